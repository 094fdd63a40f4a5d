/** The page: two ways to keep accounts, one at a time. */

import { NetworkSwitch, Refusals, SyncChip, useRoute } from "examples-page";

import { SafePage } from "./SafePage";
import { useRows } from "./rows/useRows";
import { useVault } from "./vault/useVault";

const WAYS = { rows: "An account a row", vault: "All in one blob" } as const;
const WORDS: Readonly<Record<string, string>> = { add: "add an account", change: "change an account", remove: "delete an account", save: "save the accounts" };

export function App() {
  const way = useRoute("rows") === "vault" ? "vault" : "rows";
  return (
    <div className="page">
      <header>
        <h1>Passwords</h1>
        <div className="corner">
          <SyncChip />
          <NetworkSwitch />
        </div>
        <Refusals words={(name) => WORDS[name] ?? name} />
      </header>
      <nav className="ways" aria-label="How accounts are kept">
        {(["rows", "vault"] as const).map((each) => (
          <a key={each} href={`#/${each}`} aria-current={each === way ? "page" : undefined}>
            {WAYS[each]}
          </a>
        ))}
      </nav>
      <main data-way={way}>
        {way === "rows" ? <Rows /> : <Vault />}
        <small className="foot">An example, and no vault: nothing is encrypted. Another browser, or a private window, is another device.</small>
      </main>
    </div>
  );
}

function Rows() {
  return <SafePage safe={useRows()} />;
}

function Vault() {
  return <SafePage safe={useVault()} />;
}
