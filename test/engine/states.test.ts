/** The tables of states: what the document shows, what the records say, and what cannot be. */
import { describe, expect, test } from 'vitest';
import type { RequestState } from '../../src/engine/model/requests.js';
import { classOf, isClosed, JOBS, REQUESTS, ROWS, RUNS, requestStatus } from '../../src/engine/states.js';
import { read } from '../docs/documents.js';
import { mayBecome } from '../model/reach.js';

const NEXT = {
  row: ROWS,
  request: Object.fromEntries(Object.entries(REQUESTS).map(([state, { next }]) => [state, next])),
  run: RUNS,
  job: JOBS,
} as const;

/** The cells of a table of the document, by its first heading. */
function shown(heading: string): string[][] {
  const [, text] = read('docs/concepts.md').split(`\n| ${heading} |`) as [string, string];
  const lines = text.split('\n\n')[0]!.split('\n').slice(2);
  return lines.map((line) => line.split('|').map((cell) => cell.trim())).map((cells) => cells.slice(1, -1));
}

describe('docs/concepts.md shows', () => {
  test.each(Object.entries(NEXT))('each %s, and what it may become', (what, table) => {
    const said = shown(what).map((cells) => [cells[0], cells.at(-1)]);
    const next = Object.entries<object>(table).map(([state, then]) => [
      state,
      Object.keys(then).join(', ') || 'nothing',
    ]);
    expect(said).toEqual(next);
  });

  test('what becomes of the rows of a request', () => {
    const said = shown('request').map(([, , rows]) => rows);
    expect(said).toEqual(Object.values(REQUESTS).map(({ rows }) => rows ?? 'those of its parts'));
  });
});

/** A request as the state has it, and the job that it names. */
const stored = (state: RequestState, job: string | null = null, completed_rows: number | null = null) => ({
  state,
  rows: 3,
  possibleDuplicate: null as string | null,
  job: job === null ? null : { status: job, completed_rows, total_rows: 3 },
});

const REQUEST_STATES = [
  [stored('withdrawn'), 'planned'],
  [stored('intent'), 'sending'],
  [stored('unknown'), 'unknown'],
  [stored('acknowledged', 'queued'), 'accepted'],
  [stored('settled', 'completed', 3), 'completed'],
  [stored('settled', 'completed'), 'completed'],
  [{ ...stored('settled'), rows: 0 }, 'completed'],
  [stored('settled', 'completed', 2), 'short'],
  [stored('settled', 'failed'), 'failed'],
  [stored('settled', 'unknown'), 'gone'],
  [stored('settled', 'processing'), 'accepted'],
  [stored('settled'), 'untraceable'],
  [stored('refused'), 'refused'],
  [stored('unsent'), 'refused'],
  [stored('rejected', 'failed'), 'rejected'],
  [stored('divided'), 'replaced'],
] as const;

test.each(REQUEST_STATES)('a recorded request %o is %s', (request, status) => {
  expect(requestStatus(request)).toBe(status);
  expect(requestStatus(request, true)).toBe('replaced');
});

describe('the tables', () => {
  const starts = { row: ['unsent', 'filtered'], request: ['planned'], run: ['planned'], job: ['unfinished'] };
  test.each(Object.entries(NEXT))('of a %s: something leads to each state', (what, table) => {
    const from = starts[what as keyof typeof starts];
    const unreached = Object.keys(table).filter(
      (state) => !from.some((start) => mayBecome(table, start, state)),
    );
    expect(unreached).toEqual([]);
  });

  test('end a doubt only with an answer, and an acknowledgement never', () => {
    expect(Object.keys(ROWS.unknown)).not.toContain('unsent');
    for (const doubt of ['unknown', 'unsent']) expect(Object.keys(ROWS.submitted)).not.toContain(doubt);
    for (const status of Object.keys(REQUESTS.unknown.next)) {
      expect(['accepted', 'untraceable', 'refused', 'rejected', 'replaced']).toContain(status);
    }
  });

  test('say which requests a resume has done with', () => {
    const open = REQUEST_STATES.filter(([request]) => !isClosed(request)).map(([, status]) => status);
    expect([...new Set(open)]).toEqual(['planned', 'sending', 'unknown', 'replaced']);
  });
});

describe('the rows of a request', () => {
  const again = { ...stored('withdrawn'), possibleDuplicate: 'reset' };
  test.each([
    ['not sent yet', [stored('withdrawn')], 'unsent'],
    ['in doubt', [stored('unknown')], 'unknown'],
    ['in doubt, and divided after a 413', [stored('withdrawn'), stored('unknown')], 'unknown'],
    ['in doubt, and divided as they were sent again', [stored('withdrawn'), again], 'unknown'],
    ['in doubt, and then refused', [{ ...stored('refused'), possibleDuplicate: 'reset' }], 'unknown'],
    ['to be sent again after a failed job', [stored('withdrawn'), stored('settled', 'failed')], 'submitted'],
    ['lost as they were sent again', [stored('unknown'), stored('settled', 'completed', 2)], 'submitted'],
    ['refused as they were sent again', [stored('refused'), stored('settled')], 'submitted'],
    ['rejected after all', [stored('rejected'), stored('settled', 'failed')], 'rejected'],
    [
      'rejected for a failed job, to be sent again',
      [stored('withdrawn'), stored('rejected', 'failed')],
      'submitted',
    ],
    ['rejected for a refusal, to be sent again', [stored('withdrawn'), stored('rejected')], 'unsent'],
  ] as const)('%s', (_, chain, rows) => {
    expect(classOf(chain).rows).toBe(rows);
  });
});
