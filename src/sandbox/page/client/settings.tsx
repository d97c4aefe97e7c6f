/** The view of switches: faults, speed and limits, and erasing everything. */
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { call, type Overview, withQuery } from './data.js';
import { Heading, Section, useShell } from './parts.js';

type Settings = Overview['settings'];

const SWITCHES = [
  ['503:every=1', 'The service is down', 'every write is answered with 503'],
  ['429:every=2,retry-after=1', 'The service is busy', 'every second write: 429, Retry-After: 1'],
  ['reset-after:every=3', 'Replies get lost', 'every third write is carried out, then reset'],
  ['fail-job:every=1', 'Jobs fail', 'every job ends as failed'],
  ['stuck-job:every=1', 'Jobs get stuck', 'every job stays in processing'],
] as const;

/** Limits that are numbers. An empty field means `null`, where that has a meaning. */
const FIELDS = [
  ['latency_ms', 'Latency', 'ms before each answer'],
  ['rows_per_second', 'Speed of jobs', 'rows per second'],
  ['fail_jobs', 'Jobs that fail', 'of all, from 0 to 1'],
  ['max_items', 'Items per request', 'at most; beyond, 413', 'any number'],
  ['max_bytes', 'Bytes per request', 'at most; beyond, 413'],
  ['rate_limit', 'Request rate', 'a second; beyond, 429', 'any number'],
] as const satisfies readonly (readonly [key: keyof Settings, name: string, unit: string, empty?: string])[];

export const Switches = () => (
  <>
    <Heading title="Switches">
      <p class="quiet">They take effect at once, and last until the sandbox stops.</p>
    </Heading>
    <div class="columns">
      <Faults />
      <Limits />
    </div>
    <Reset />
  </>
);

/** How to change something, and what came of it, for the reader. */
function useChange(): [result: ComponentChildren, change: (act: Promise<unknown>, done: string) => void] {
  const [[style, text], setResult] = useState(['', '']);
  const change = (act: Promise<unknown>, done: string): void => {
    act.then(
      () => setResult(['quiet', done]),
      (error: Error) => setResult(['note bad', error.message]),
    );
  };
  const result = (
    <p class={style} role="status">
      {text}
    </p>
  );
  return [result, change];
}

const Toggle = (props: { name: string; what: string; on: boolean; set(on: boolean): void }) => (
  <p>
    <label>
      <input
        type="checkbox"
        role="switch"
        checked={props.on}
        aria-checked={props.on}
        onChange={(event) => props.set(event.currentTarget.checked)}
      />{' '}
      <strong>{props.name}</strong> <span class="quiet">{props.what}</span>
    </label>
  </p>
);

function Faults() {
  const set = useShell().overview?.faults ?? [];
  const [result, change] = useChange();
  const add = (spec: string) => change(call('faults', 'POST', { spec }), `fault ${spec} set`);
  const remove = (spec: string) =>
    change(call(withQuery('faults', { spec }), 'DELETE'), `fault ${spec} removed`);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    add(String(new FormData(event.currentTarget as HTMLFormElement).get('spec')).trim());
  };
  return (
    <Section title="Faults">
      {SWITCHES.map(([spec, name, what]) => {
        const toggle = (on: boolean): void => (on ? add(spec) : remove(spec));
        return <Toggle key={spec} name={name} what={what} on={set.includes(spec)} set={toggle} />;
      })}
      <form class="row" onSubmit={submit}>
        <label class="grow">
          <span class="quiet">Another fault</span>
          <input name="spec" defaultValue="503:first=3,retry-after=2" aria-describedby="fault-form" />
        </label>
        <button type="submit">Add</button>
      </form>
      <p id="fault-form" class="quiet">
        Such as <code>hang:nth=2</code>, <code>reset-after:p=0.1</code> or{' '}
        <code>short-job:every=2,rows=5</code>; all of them: <code>profiles help faults</code>
      </p>
      {result}
      <h3>{set.length === 0 ? 'No fault is set' : 'Set now'}</h3>
      {set.map((spec, index) => (
        <p key={`${index} ${spec}`} class="row">
          <code class="grow">{spec}</code>
          <button type="button" aria-label={`Remove ${spec}`} onClick={() => remove(spec)}>
            Remove
          </button>
        </p>
      ))}
    </Section>
  );
}

/** Each limit is saved when its field is left, or with Enter. */
function Limits() {
  const settings = useShell().overview?.settings;
  const [result, change] = useChange();
  const save = (key: keyof Settings, name: string, value: number | boolean | null): void =>
    change(call('settings', 'PATCH', { [key]: value }), `${name} saved`);
  return (
    <Section title="Speed and limits">
      {FIELDS.map(([key, name, unit, empty]) => (
        <label key={`${key} ${settings?.[key]}`} class="row">
          <span class="grow">
            {name} <span class="quiet">{unit}</span>
          </span>
          <input
            {...{ type: 'number', min: '0', step: 'any', placeholder: empty }}
            defaultValue={String(settings?.[key] ?? '')}
            onChange={({ currentTarget: { value } }) => save(key, name, value === '' ? null : Number(value))}
          />
        </label>
      ))}
      <Toggle
        name="One job at a time"
        what="a second one is refused with 409"
        on={settings?.one_job_at_a_time ?? false}
        set={(on) => save('one_job_at_a_time', 'one job at a time', on)}
      />
      {result}
    </Section>
  );
}

function Reset() {
  const [result, change] = useChange();
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <Section title="Reset">
      <button type="button" class="bad" onClick={() => dialog.current?.showModal()}>
        Erase everything…
      </button>
      {result}
      <dialog ref={dialog} class="paper" aria-labelledby="sure">
        <h3 id="sure">Erase everything?</h3>
        <p>All profiles, jobs and logged requests will be gone. Switches stay as they are.</p>
        <form method="dialog" class="row">
          <button type="submit">Keep</button>
          <button
            type="submit"
            class="bad"
            onClick={() => change(call('reset', 'POST'), 'everything was erased')}
          >
            Erase everything
          </button>
        </form>
      </dialog>
    </Section>
  );
}
