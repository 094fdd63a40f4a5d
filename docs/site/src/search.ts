/** How the site's search ranks: pages for people who write an app stand before those for people who change Iolite. */

/** As MiniSearch takes them. VitePress writes the functions into the page as text, so they use nothing from outside of themselves. */
export const SEARCH_OPTIONS = {
  fuzzy: 0.2,
  prefix: true,
  boost: { title: 4, text: 2, titles: 1 },
  boostDocument: (id: string): number => (/^\/?guides\//.test(id) ? 3 : /^\/?(start|reference)\//.test(id) ? 2 : 1),
};
