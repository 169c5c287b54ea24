// A payment link has the form /#/quickinvoicepay/<id>. The part after # never reaches the server.
"use strict";

function openPaymentPage() {
  if (location.hash.startsWith("#/quickinvoicepay/")) {
    location.replace(location.hash.slice(1));
  }
}

addEventListener("hashchange", openPaymentPage);
openPaymentPage();
