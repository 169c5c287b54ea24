/* Order the results of the search: pages of the guides, then methods, then other names, then fields. */
"use strict";
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  /* A result is a page that has the words, a heading, or the name of an object. */
  score: ([page, , , description, score, , kind]) => {
    const isReference = /^reference\/(api|commands)\//.test(page);
    if (kind === "object") {
      return score + (/method|function|class/.test(description) ? 0 : -40);
    }
    if (kind === "index") return score - 100;
    if (page === "changelog") return score - 20;
    return score + (isReference ? 0 : 20) + (kind === "title" ? 20 : 0);
  },
};
