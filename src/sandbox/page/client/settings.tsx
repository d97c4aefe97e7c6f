/** The view of switches: faults, speed and limits, and erasing everything. */
import { useRef, useState } from 'preact/hooks';
import type { Settings as Values } from '../wire.js';
import { call } from './data.js';
import { plural } from './format.js';
import { Heading, useShell } from './parts.js';

const SWITCHES = [
  ['503:every=1', 'The service is down', 'every write is answered with 503'],
  [
    '429:every=2,retry-after=1',
    'The service is busy',
    'every second write is answered with 429, Retry-After: 1',
  ],
  [
    'reset-after:every=3',
    'Replies get lost',
    'every third write is carried out, then its connection is reset',
  ],
  ['fail-job:every=1', 'Jobs fail', 'every job ends as failed'],
  ['stuck-job:every=1', 'Jobs get stuck', 'every job stays in processing'],
] as const;

export function Settings() {
  return (
    <>
      <div class="head">
        <Heading title="Switches">Switches</Heading>
        <p class="sum">They take effect at once, and last until the sandbox stops.</p>
      </div>
      <div class="columns">
        <Faults />
        <Limits />
      </div>
      <Reset />
    </>
  );
}

function Faults() {
  const { overview, announce } = useShell();
  const [spec, setSpec] = useState('503:first=3,retry-after=2');
  const [problem, setProblem] = useState('');
  const set = overview?.faults ?? [];

  const change = async (act: () => Promise<unknown>, said: string): Promise<void> => {
    try {
      await act();
      setProblem('');
      announce(said);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const add = (one: string): Promise<void> =>
    change(() => call('faults', 'POST', { spec: one }), `fault ${one} set`);
  const remove = (one: string): Promise<void> =>
    change(() => call(`faults?spec=${encodeURIComponent(one)}`, 'DELETE'), `fault ${one} removed`);

  return (
    <section aria-labelledby="faults">
      <h2 id="faults">Faults</h2>
      <ul class="switches">
        {SWITCHES.map(([one, name, what]) => {
          const on = set.includes(one);
          return (
            <li key={one}>
              <button
                type="button"
                role="switch"
                aria-checked={on}
                aria-describedby={`what-${one}`}
                onClick={() => void (on ? remove(one) : add(one))}
              >
                <span class="knob" aria-hidden="true" />
                {name}
              </button>
              <span id={`what-${one}`} class="quiet">
                {what}
              </span>
            </li>
          );
        })}
      </ul>
      <form
        class="add"
        onSubmit={(event) => {
          event.preventDefault();
          void add(spec.trim());
        }}
      >
        <label class="grow">
          <span class="label">Another fault</span>
          <input
            value={spec}
            spellcheck={false}
            autocomplete="off"
            aria-describedby="fault-form fault-problem"
            aria-invalid={problem !== ''}
            onInput={(event) => setSpec(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Add</button>
      </form>
      <p id="fault-form" class="quiet">
        <code>what:when,option…</code>, such as <code>503:first=3</code>, <code>hang:nth=2</code>,{' '}
        <code>reset-after:p=0.1</code> or <code>short-job:every=2,rows=5</code>; all of them:{' '}
        <code>profiles sandbox --help</code>
      </p>
      <p id="fault-problem" class="problem" role="alert">
        {problem}
      </p>
      <h3>Set now</h3>
      {set.length === 0 ? (
        <p class="quiet">No fault is set.</p>
      ) : (
        <ul class="set">
          {set.map((one, index) => (
            <li key={`${index} ${one}`}>
              <code>{one}</code>
              <button type="button" aria-label={`Remove ${one}`} onClick={() => void remove(one)}>
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

type Key = Exclude<keyof Values, 'fail_rows' | 'fail_rows_with'>;

const FIELDS: readonly {
  key: Exclude<Key, 'one_job_at_a_time'>;
  name: string;
  unit: string;
  empty?: string;
  of?: number;
}[] = [
  { key: 'latency_ms', name: 'Latency', unit: 'ms before each answer' },
  { key: 'rows_per_second', name: 'Speed of jobs', unit: 'rows per second' },
  { key: 'fail_jobs', name: 'Jobs that fail', unit: '%', of: 100 },
  { key: 'max_items', name: 'Items per request', unit: 'at most; beyond, 413', empty: 'any number' },
  { key: 'max_bytes', name: 'Bytes per request', unit: 'at most; beyond, 413' },
  { key: 'rate_limit', name: 'Request rate', unit: 'a second; beyond, 429', empty: 'any number' },
];

function Limits() {
  const { overview, announce } = useShell();
  /** What was typed but not saved yet. */
  const [typed, setTyped] = useState<Partial<Record<Key, string | boolean>>>({});
  const [problem, setProblem] = useState('');
  const current = overview?.settings;
  const changed = Object.keys(typed).length > 0;

  async function save(): Promise<void> {
    const change: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(typed)) {
      const field = FIELDS.find((one) => one.key === key);
      if (field === undefined) change[key] = value;
      else if (value === '' && field.empty !== undefined) change[key] = null;
      else change[key] = value === '' ? null : Number(value) / (field.of ?? 1);
    }
    try {
      await call('settings', 'PATCH', change);
      setTyped({});
      setProblem('');
      announce('settings saved');
    } catch (error) {
      setProblem((error as Error).message);
    }
  }

  return (
    <section aria-labelledby="limits">
      <h2 id="limits">Speed and limits</h2>
      <form
        class="limits"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {FIELDS.map(({ key, name, unit, empty, of = 1 }) => {
          const value = current?.[key];
          const shown =
            typed[key] ?? (value === null || value === undefined ? '' : Number((value * of).toFixed(6)));
          return (
            <label key={key} class="limit">
              <span class="name">{name}</span>
              <input
                type="number"
                min="0"
                step="any"
                value={String(shown)}
                placeholder={empty ?? ''}
                aria-describedby={`unit-${key}`}
                onInput={(event) => setTyped({ ...typed, [key]: event.currentTarget.value })}
              />
              <span id={`unit-${key}`} class="quiet">
                {unit}
              </span>
            </label>
          );
        })}
        <label class="check">
          <input
            type="checkbox"
            checked={Boolean(typed.one_job_at_a_time ?? current?.one_job_at_a_time)}
            onChange={(event) => setTyped({ ...typed, one_job_at_a_time: event.currentTarget.checked })}
          />
          One job at a time; a second one is refused with 409
        </label>
        <p class="problem" role="alert">
          {problem}
        </p>
        <div class="buttons">
          <button type="submit" class="primary" disabled={!changed}>
            Save
          </button>
          {changed && (
            <button type="button" onClick={() => setTyped({})}>
              Discard
            </button>
          )}
        </div>
      </form>
    </section>
  );
}

function Reset() {
  const { overview, announce } = useShell();
  const dialog = useRef<HTMLDialogElement>(null);
  const { profiles, jobs, requests } = overview ?? {};
  const sum = (kind: 'companies' | 'users'): number =>
    profiles ? profiles.default[kind] + profiles.eu[kind] : 0;

  async function reset(): Promise<void> {
    dialog.current?.close();
    await call('reset', 'POST', {});
    announce('everything was erased');
  }

  return (
    <section aria-labelledby="reset" class="danger">
      <h2 id="reset">Reset</h2>
      <p>Erases all profiles, jobs and the request log. Switches stay as they are.</p>
      <button type="button" class="destructive" onClick={() => dialog.current?.showModal()}>
        Erase everything…
      </button>
      <dialog ref={dialog} aria-labelledby="sure">
        <h3 id="sure">Erase everything?</h3>
        <p>
          {plural(sum('companies'), 'company', 'companies')}, {plural(sum('users'), 'user')},{' '}
          {plural(jobs?.total ?? 0, 'job')} and {plural(requests ?? 0, 'logged request')} will be gone.
        </p>
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep
          </button>
          <button type="button" class="destructive" onClick={() => void reset()}>
            Erase everything
          </button>
        </div>
      </dialog>
    </section>
  );
}
