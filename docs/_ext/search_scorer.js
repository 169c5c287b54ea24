/* Order the results of the search: guides, then methods and classes, then other pages and lists, and fields last. */
"use strict";

const QUERY = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();
/* Several words in one heading are seldom there by chance. */
const PHRASE_BONUS = QUERY.includes(" ") ? 20 : 0;
const IS_NAME = /[a-z][._][a-z]|[a-z][A-Z]/.test(new URLSearchParams(location.search).get("q") ?? "");
/* The pages that most readers want, where several have a word equally. */
const FIRST_PAGES = new Set(["guides/payments", "guides/lost-responses", "guides/postbacks", "guides/migration", "guides/testing"]);

const isNamed = (title) => {
  const last = title.split(" > ").at(-1).toLowerCase();
  return last === QUERY || last.endsWith(`.${QUERY}`);
};

const valueOf = (page) => {
  if (/^(changelog|contributing|examples|start\/glossary|(\w+\/)?index)$/.test(page)) return 10;
  if (/^reference\/(api|commands)\//.test(page)) return 5;
  return (/^(start|guides|paths)\//.test(page) ? 30 : 20) + (FIRST_PAGES.has(page) ? 3 : 0);
};

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  /* A result is an object of the code, a heading, or a page with the words in it. */
  score: ([page, title, anchor, description, score, , kind]) => {
    if (kind === "index") return score - 100;
    if (kind === "object") {
      if (/attribute|property/.test(description)) return score - 30;
      return score + (isNamed(title) ? (IS_NAME ? 60 : 20) : 0);
    }
    const heading = kind === "title" ? (anchor === "" ? 12 : 5) + PHRASE_BONUS + (IS_NAME && isNamed(title) ? 40 : 0) : 0;
    return score + valueOf(page) + heading;
  },
};
