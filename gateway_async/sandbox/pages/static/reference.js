// Start Swagger UI, in the colors of the page, with the credentials of this sandbox.
"use strict";

const container = document.getElementById("reference");
const dark = matchMedia("(prefers-color-scheme: dark)");

function followColorScheme() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

dark.addEventListener("change", followColorScheme);
followColorScheme();

const viewer = SwaggerUIBundle({
  url: "/reference/openapi.json",
  domNode: container,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null, // it would be asked at another host
  onComplete() {
    for (const [scheme, value] of Object.entries(JSON.parse(container.dataset.credentials))) {
      viewer.preauthorizeApiKey(scheme, value);
    }
  },
});
