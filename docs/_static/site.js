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

/* Name the side bars for screen readers, which list them by their names. */
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
});
