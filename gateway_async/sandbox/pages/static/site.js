// Buttons that copy, and folds and keyboard focus that stay when a live part of a page is replaced.
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

function addCopyButtons(part) {
  if (navigator.clipboard) part.querySelectorAll("[data-copy]").forEach(addCopyButton);
}

addCopyButtons(document);

const formerById = new Map();

function findFoldsAndButtons(part) {
  return [...part.querySelectorAll("summary, button")];
}

document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  const found = findFoldsAndButtons(target);
  const open = found.map((each) => each.parentElement.open);
  formerById.set(target.id, { open, focused: found.indexOf(document.activeElement) });
});

// Not at htmx:load, which comes a moment later: a click before it would be undone.
document.addEventListener("htmx:afterSwap", ({ target }) => {
  if (!(target instanceof Element)) return;
  addCopyButtons(target);
  const [found, former] = [findFoldsAndButtons(target), formerById.get(target.id)];
  if (former?.open.length !== found.length) return;
  found.forEach((each, index) => {
    if (each.tagName === "SUMMARY") each.parentElement.open = former.open[index];
  });
  found[former.focused]?.focus({ preventScroll: true });
});
