// Count the seconds of each [data-seconds] up, or with data-down to zero.
const shownAt = new WeakMap();

function count() {
  const now = performance.now();
  for (const timer of document.querySelectorAll("[data-seconds]")) {
    if (!shownAt.has(timer)) shownAt.set(timer, now);
    const passed = Math.floor((now - shownAt.get(timer)) / 1000);
    const first = Number(timer.dataset.seconds);
    const seconds = "down" in timer.dataset ? Math.max(0, first - passed) : first + passed;
    const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (timer.textContent !== text) timer.textContent = text;
  }
}
setInterval(count, 250);

// Replace what has changed only, so that screen readers do not repeat the rest.
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { fragment, target } = event.detail;
  if (fragment.textContent.trim() === target.textContent.trim()) event.detail.shouldSwap = false;
});

// A key is refused when the sandbox was restarted or reset: the page is from before.
document.addEventListener("htmx:responseError", () => location.reload());
