/** A button that asks before it does something: its dialog has the focus until it is answered, and gives it back to the button. */

import { type FormEvent, type ReactNode, useId, useRef } from "react";

interface AskButtonProps {
  readonly label: string;
  readonly question: string;
  /** The label of the button that does it. */
  readonly answer: string;
  readonly className?: string;
  /** The fields of the form. */
  readonly children?: ReactNode;
  readonly onAnswer: (form: FormData) => void;
}

export function AskButton({ label, question, answer, className, children, onAnswer }: AskButtonProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    onAnswer(new FormData(event.currentTarget));
    event.currentTarget.reset();
    dialog.current?.close();
  }
  return (
    <>
      <button type="button" className={className} aria-haspopup="dialog" onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} className="card ask" aria-labelledby={title}>
        <form onSubmit={submit}>
          <h2 id={title}>{question}</h2>
          {children}
          <div className="answers">
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" className="main">
              {answer}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
