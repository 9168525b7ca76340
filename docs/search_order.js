/* How results of the search are ordered: the values are Sphinx's, all but `score`. */
"use strict";

var Scorer = {
  score: ([page, , , , score, , kind]) => {
    // A term of the glossary is explained on the page to which it leads.
    if (page === "glossary") return score - 20;
    // Where several pages have the same words, short answers come first, and pages of figures and single objects last.
    if (page === "faq") return score + 3;
    const isLast = /^(generated|gallery|benchmarks|changelog|defaults|thesis|contributing)/.test(page);
    return kind === "text" && isLast ? score - 6 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
