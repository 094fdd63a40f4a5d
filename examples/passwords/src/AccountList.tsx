/** The accounts by name, with what is not sent yet. */

import type { Mark } from "examples-page";
import { useState } from "react";

import type { Safe, SeenAccount } from "./safe";

const WORDS: Readonly<Record<Mark | "conflict", string>> = { here: "not saved yet", kept: "not sent yet", sent: "", conflict: "in conflict" };

interface AccountListProps {
  readonly safe: Safe;
  /** Only accounts with this text in them. */
  readonly wanted: string;
  readonly onOpen: (account: SeenAccount) => void;
}

export function AccountList({ safe, wanted, onOpen }: AccountListProps) {
  const [copied, tell] = useState("");
  if (safe.accounts === undefined) {
    return <p className="empty">The accounts are being read …</p>;
  }
  const found = safe.accounts.filter((account) => isWanted(account, wanted)).sort((a, b) => a.name.localeCompare(b.name));
  if (found.length === 0) {
    const isEmpty = safe.accounts.length === 0;
    return <p className="empty">{isEmpty ? "No accounts yet. Add one: it shows here at once, also without a network." : "No account has this text."}</p>;
  }
  const copy = (account: SeenAccount): void => {
    const words = (outcome: string) => () => tell(`${account.name}: ${outcome}`);
    navigator.clipboard.writeText(account.password).then(words("the password is copied."), words("this browser does not copy."));
  };
  return (
    <>
      <ul className="accounts card" aria-label="Accounts">
        {found.map((account) => (
          <Item key={account.id} account={account} safe={safe} onOpen={onOpen} onCopy={copy} />
        ))}
      </ul>
      <p role="status" className="copied">
        {copied}
      </p>
    </>
  );
}

interface ItemProps extends Pick<AccountListProps, "safe" | "onOpen"> {
  readonly account: SeenAccount;
  readonly onCopy: (account: SeenAccount) => void;
}

function Item({ account, safe, onOpen, onCopy }: ItemProps) {
  const mark = safe.conflicts.some(({ id }) => id === account.id) ? "conflict" : safe.mark(account.id);
  return (
    <li data-account={account.name} data-mark={mark}>
      <button className="open" aria-haspopup="dialog" onClick={() => onOpen(account)}>
        <span className="face" aria-hidden="true" style={{ "--hue": hueOf(account.name) } as React.CSSProperties}>
          {account.name.slice(0, 1).toUpperCase()}
        </span>
        <span className="names">
          <strong>{account.name}</strong>
          <span>{account.user}</span>
        </span>
        {mark !== "sent" && <span className="mark">{WORDS[mark]}</span>}
      </button>
      <button className="copy" aria-label={`Copy the password of ${account.name}`} onClick={() => onCopy(account)}>
        Copy
      </button>
    </li>
  );
}

function isWanted({ name, user, url }: SeenAccount, text: string): boolean {
  return `${name}\n${user}\n${url}`.toLowerCase().includes(text.trim().toLowerCase());
}

function hueOf(name: string): number {
  return [...name].reduce((hue, letter) => (hue * 31 + (letter.codePointAt(0) ?? 0)) % 360, 7);
}
