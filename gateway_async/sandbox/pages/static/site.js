// Buttons that copy, and JSON that stays folded when a live part of a page is replaced.
"use strict";

function addCopyButton(source) {
  const button = document.createElement("button");
  const name = `Copy: ${source.dataset.copy}`;
  button.type = "button";
  button.className = "copy";
  button.title = name;
  button.setAttribute("aria-label", name);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.setAttribute("aria-label", "Copied");
    setTimeout(() => button.setAttribute("aria-label", name), 1500);
  });
  (source.closest("a") ?? source)[source.tagName === "CODE" ? "after" : "before"](button);
}

const foldsById = new Map();

function findFolds(part) {
  return [...part.querySelectorAll("details")];
}

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  foldsById.set(detail.target.id, findFolds(detail.target).map((each) => each.open));
});

// htmx sends this for the whole page, and for each part that it has replaced.
document.addEventListener("htmx:load", ({ detail }) => {
  if (navigator.clipboard) detail.elt.querySelectorAll("[data-copy]").forEach(addCopyButton);
  const [folds, former] = [findFolds(detail.elt), foldsById.get(detail.elt.id)];
  if (former?.length === folds.length) folds.forEach((each, index) => (each.open = former[index]));
});
