/** The view of switches: faults, speed and limits, and erasing everything. */
import { useRef, useState } from 'preact/hooks';
import { call, type Settings as Values } from './data.js';
import { plural } from './format.js';
import { Heading, Section, useShell } from './parts.js';

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
      <Heading title="Switches" sum="They take effect at once, and last until the sandbox stops.">
        Switches
      </Heading>
      <div class="columns">
        <Section id="faults" title="Faults">
          <Faults />
        </Section>
        <Section id="limits" title="Speed and limits">
          <Limits />
        </Section>
      </div>
      <Section id="reset" title="Reset">
        <Reset />
      </Section>
    </>
  );
}

/** What goes wrong when something is changed, for the reader; and how to change it. */
function useChange(): [problem: string, change: (act: Promise<unknown>, said: string) => Promise<void>] {
  const { announce } = useShell();
  const [problem, setProblem] = useState('');
  const change = async (act: Promise<unknown>, said: string): Promise<void> => {
    try {
      await act;
      setProblem('');
      announce(said);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return [problem, change];
}

const Problem = ({ id, children }: { id?: string; children: string }) => (
  <p id={id} class={children && 'note bad'} role="alert">
    {children}
  </p>
);

function Faults() {
  const { overview } = useShell();
  const [spec, setSpec] = useState('503:first=3,retry-after=2');
  const [problem, change] = useChange();
  const set = overview?.faults ?? [];
  const add = (one: string) => change(call('faults', 'POST', { spec: one }), `fault ${one} set`);
  const remove = (one: string) =>
    change(call(`faults?spec=${encodeURIComponent(one)}`, 'DELETE'), `fault ${one} removed`);

  return (
    <>
      {SWITCHES.map(([one, name, what]) => {
        const on = set.includes(one);
        return (
          <p key={one}>
            <button
              type="button"
              role="switch"
              aria-checked={on}
              aria-describedby={`what-${one}`}
              onClick={() => void (on ? remove(one) : add(one))}
            >
              {name}
            </button>
            <span id={`what-${one}`} class="quiet">
              {what}
            </span>
          </p>
        );
      })}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void add(spec.trim());
        }}
      >
        <label class="grow">
          <span class="quiet">Another fault</span>
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
        <code>profiles help faults</code>
      </p>
      <Problem id="fault-problem">{problem}</Problem>
      <h3>Set now</h3>
      {set.length === 0 && <p class="quiet">No fault is set.</p>}
      {set.map((one, index) => (
        <p key={`${index} ${one}`} class="row">
          <code class="grow">{one}</code>
          <button type="button" aria-label={`Remove ${one}`} onClick={() => void remove(one)}>
            Remove
          </button>
        </p>
      ))}
    </>
  );
}

interface Field {
  key: Exclude<keyof Values, 'fail_rows' | 'fail_rows_with' | 'one_job_at_a_time'>;
  name: string;
  unit: string;
  /** What an empty field means, if it may be empty. */
  empty?: string;
  /** What 1 is shown as. */
  of?: number;
}

const FIELDS: readonly Field[] = [
  { key: 'latency_ms', name: 'Latency', unit: 'ms before each answer' },
  { key: 'rows_per_second', name: 'Speed of jobs', unit: 'rows per second' },
  { key: 'fail_jobs', name: 'Jobs that fail', unit: '%', of: 100 },
  { key: 'max_items', name: 'Items per request', unit: 'at most; beyond, 413', empty: 'any number' },
  { key: 'max_bytes', name: 'Bytes per request', unit: 'at most; beyond, 413' },
  { key: 'rate_limit', name: 'Request rate', unit: 'a second; beyond, 429', empty: 'any number' },
];

function Limits() {
  const { overview } = useShell();
  /** What was typed but not saved yet, as it is shown. */
  const [typed, setTyped] = useState<Partial<Record<keyof Values, string | boolean>>>({});
  const [problem, change] = useChange();
  const current = overview?.settings;
  const changed = Object.keys(typed).length > 0;

  async function save(): Promise<void> {
    const values = Object.entries(typed).map(([key, value]) => {
      const { of = 1 } = FIELDS.find((one) => one.key === key) ?? {};
      return [key, typeof value === 'boolean' ? value : value === '' ? null : Number(value) / of];
    });
    const saved = call('settings', 'PATCH', Object.fromEntries(values));
    await change(
      saved.then(() => setTyped({})),
      'settings saved',
    );
  }

  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {FIELDS.map(({ key, name, unit, empty, of = 1 }) => {
        const value = current?.[key];
        const shown = typed[key] ?? (value == null ? '' : Number((value * of).toFixed(6)));
        return (
          <label key={key} class="limit">
            <span>{name}</span>
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
      <p>
        <label>
          <input
            type="checkbox"
            checked={Boolean(typed.one_job_at_a_time ?? current?.one_job_at_a_time)}
            onChange={(event) => setTyped({ ...typed, one_job_at_a_time: event.currentTarget.checked })}
          />{' '}
          One job at a time; a second one is refused with 409
        </label>
      </p>
      <Problem>{problem}</Problem>
      <div class="row">
        <button type="submit" disabled={!changed}>
          Save
        </button>
        {changed && (
          <button type="button" onClick={() => setTyped({})}>
            Discard
          </button>
        )}
      </div>
    </form>
  );
}

function Reset() {
  const { overview } = useShell();
  const [problem, change] = useChange();
  const dialog = useRef<HTMLDialogElement>(null);
  const { profiles, jobs, requests } = overview ?? {};
  const sum = (kind: 'companies' | 'users'): number =>
    profiles ? profiles.default[kind] + profiles.eu[kind] : 0;

  return (
    <>
      <p>Erases all profiles, jobs and the request log. Switches stay as they are.</p>
      <button type="button" class="bad" onClick={() => dialog.current?.showModal()}>
        Erase everything…
      </button>
      <Problem>{problem}</Problem>
      <dialog ref={dialog} aria-labelledby="sure">
        <h3 id="sure">Erase everything?</h3>
        <p>
          {plural(sum('companies'), 'company', 'companies')}, {plural(sum('users'), 'user')},{' '}
          {plural(jobs?.total ?? 0, 'job')} and {plural(requests ?? 0, 'logged request')} will be gone.
        </p>
        <form
          method="dialog"
          class="row"
          onSubmit={({ submitter }) => {
            const sure = (submitter as HTMLButtonElement | null)?.value === 'sure';
            if (sure) void change(call('reset', 'POST', {}), 'everything was erased');
          }}
        >
          <button type="submit">Keep</button>
          <button type="submit" class="bad" value="sure">
            Erase everything
          </button>
        </form>
      </dialog>
    </>
  );
}
