/* Open the table of the field that the address names: not every browser does it. */
"use strict";
const openField = () => {
  const field = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const table = field?.closest("details");
  if (table && !table.open) {
    table.open = true;
    field.scrollIntoView();
  }
};
addEventListener("hashchange", openField);
addEventListener("DOMContentLoaded", openField);

/* What scrolls can be reached by the keyboard. */
const reachScrolling = () => {
  for (const box of document.querySelectorAll("pre, .table-wrapper")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("load", reachScrolling);
addEventListener("resize", reachScrolling);
document.addEventListener("toggle", reachScrolling, true);

/* Name the side bars for screen readers, which list them by their names. */
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
});
