const pages = new EventSource("/events");
pages.onmessage = (event) => {
  const next = new DOMParser().parseFromString(event.data, "text/html");
  for (const part of next.querySelectorAll("main > *")) {
    const shown = document.getElementById(part.id);
    if (shown.innerHTML !== part.innerHTML) shown.innerHTML = part.innerHTML;
  }
  document.title = next.title;
  if (!next.querySelector("main.live")) pages.close();
};
