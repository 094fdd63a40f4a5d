/** A switch with its name beside it. */

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onTurn: (on: boolean) => void;
}

export function Switch({ label, isOn, onTurn }: SwitchProps) {
  return (
    <button type="button" className="switch" role="switch" aria-checked={isOn} onClick={() => onTurn(!isOn)}>
      <span>{label}</span>
      <span className="switch-track" aria-hidden="true" />
    </button>
  );
}
