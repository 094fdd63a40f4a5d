/**
 * Twenty questions that somebody may come with, and the page that answers each. They were written down before the site was built, so that the
 * search is not judged by what it happens to find.
 */

export const QUESTIONS: readonly (readonly [question: string, page: string])[] = [
  ["install", "guides/take-it-into-your-app"],
  ["first app tutorial", "start/tutorial"],
  ["primary key", "guides/schema"],
  ["counter column", "guides/schema"],
  ["abort a mutation", "guides/mutators"],
  ["text box", "guides/forms"],
  ["validate form", "guides/forms"],
  ["load more rows", "guides/lists"],
  ["order by index", "guides/lists"],
  ["service worker", "guides/offline"],
  ["pending mutations", "guides/offline"],
  ["several tabs", "guides/device"],
  ["storage full", "guides/device"],
  ["test my mutators", "guides/testing"],
  ["add a column", "guides/schema-changes"],
  ["rename a column", "guides/schema-changes"],
  ["proxy TLS", "guides/deploy"],
  ["backup", "operations/backup"],
  ["unauthorized", "reference/errors"],
  ["isolation levels", "protocols/operations"],
];
