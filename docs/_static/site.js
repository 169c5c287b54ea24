/* Open the table of the field that the address names: not every browser does it. */
"use strict";
const openField = () => {
  const field = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const table = field?.closest("details");
  if (table && !table.open) {
    table.open = true;
    reachScrolling();
    returnToTarget();
  }
};
addEventListener("hashchange", openField);
addEventListener("DOMContentLoaded", openField);

/* On a phone, two columns or short texts become narrow. A table that is still too wide becomes a list of cards, unless
   it has figures, which are compared in columns: it scrolls. */
const LONG_TEXT = 60;
const phone = matchMedia("(max-width: 46em)");
const arrangeTables = () => {
  for (const box of document.querySelectorAll(".table-wrapper")) {
    const table = box.querySelector("table");
    const columns = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
    const cells = [...table.querySelectorAll("tbody td")];
    const isShort = columns.length <= 2 || cells.every((cell) => cell.textContent.length <= LONG_TEXT);
    table.classList.remove("cards");
    table.classList.toggle("tight", phone.matches && isShort);
    if (!phone.matches || box.scrollWidth <= box.clientWidth || table.querySelector("td.text-right")) continue;
    for (const cell of cells) if (cell.textContent.trim()) cell.dataset.column = columns[cell.cellIndex];
    table.classList.add("cards");
  }
};

/* What scrolls can be reached by the keyboard. */
const reachScrolling = () => {
  arrangeTables();
  for (const box of document.querySelectorAll("pre, .table-wrapper, section > p:has(> img)")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
/* The browser scrolls to the element of the address before tables change their heights. */
const returnToTarget = () => {
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView({ behavior: "instant" });
};
addEventListener("load", () => {
  reachScrolling();
  returnToTarget();
});
document.addEventListener("load", reachScrolling, true); // of a picture, which may come later
addEventListener("resize", reachScrolling);
document.addEventListener("toggle", reachScrolling, true);

/* Name the side bars for screen readers, which list them by their names. */
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
});
