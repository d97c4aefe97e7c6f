import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { createDisplay, type DisplayView, liveRegion, waiting } from '../../../src/cli/output/display.js';
import { IdleClock } from '../../support/clock.js';
import { bare, sink } from '../../support/sink.js';

/** Between two frames of the spinner. */
const FRAME_MS = 80;
const SHOW = '\u001b[?25h';
const HIDE = '\u001b[?25l';
const WRAP = '\u001b[?7h';
const WIPE = '\r \u001b[J\r\u001b[K';

const startLiveRegion = await liveRegion();

// ora has timers of its own.
describe('startLiveRegion', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('draws with the current size, and the next frame at every tick', () => {
    const out = sink({ columns: 40, rows: 10 });
    const stop = startLiveRegion(out, ({ columns, rows }) => [`${columns}x${rows}`]);
    expect(bare(out.fresh())).toContain('⠋ 37x9');
    vi.advanceTimersByTime(FRAME_MS);
    expect(bare(out.fresh())).toContain('⠙ 37x9');
    Object.assign(out, { columns: 20, rows: 3 });
    out.emit('resize');
    expect(bare(out.fresh())).toContain('⠙ 17x2');
    stop();
  });

  test('hides the cursor while it is drawn, shows it at the end, and leaves nothing behind', () => {
    const out = sink({ columns: 40 });
    const stop = startLiveRegion(out, () => ['one', 'two']);
    const drawn = out.fresh();
    expect([drawn.startsWith(HIDE), drawn.includes(`\r${WRAP}`)]).toEqual([true, true]);
    stop();
    expect(out.fresh()).toBe(`${WIPE}${SHOW}`);
    expect([vi.getTimerCount(), out.listenerCount('resize')]).toEqual([0, 0]);
    stop();
    out.write('after\n');
    expect(out.fresh()).toBe('after\n');
  });

  test('what others write appears above it', () => {
    const out = sink({ columns: 40 });
    const stop = startLiveRegion(out, () => ['region']);
    out.fresh();
    out.write('warning: a\n');
    expect(bare(out.fresh())).toBe('\r \rwarning: a\n\r \r⠋ region\r');
    stop();
  });

  test('what others write is followed by the current lines', () => {
    const out = sink({ columns: 40 });
    let line = 'job a';
    const stop = startLiveRegion(out, () => [line]);
    out.fresh();
    line = 'job b';
    out.write('✓ job a\n');
    expect(bare(out.fresh())).toContain('✓ job a\n\r \r⠋ job b\r');
    stop();
  });

  test('never more lines than the terminal has', () => {
    const out = sink({ columns: 40, rows: 4 });
    const stop = startLiveRegion(out, () => ['1', '2', '3', '4', '5']);
    expect(bare(out.text())).toBe('\r \r⠋ 1\n  2\n  3\r');
    stop();
  });

  test('a slow terminal gets no more frames', () => {
    const out = sink({ columns: 40 });
    const stop = startLiveRegion(out, () => ['region']);
    out.cork(); // nothing is taken from here on
    out.write(`${'x'.repeat(out.writableHighWaterMark)}\n`);
    const waiting = out.writableLength;
    vi.advanceTimersByTime(10 * FRAME_MS);
    expect(out.writableLength).toBe(waiting);
    out.uncork();
    stop();
  });
});

describe('createDisplay', () => {
  const view = (): DisplayView & { text: string | null } => ({
    text: null,
    live: () => ['live'],
    plain() {
      return this.text;
    },
  });

  test('plain: a line per change, with the time, at most every 5 s', () => {
    const out = sink();
    const clock = new IdleClock(new Date(2026, 0, 15, 12, 3, 5).getTime());
    const now = view();
    const display = createDisplay(now, { stream: out, mode: 'plain', clock });
    const say = (text: string | null, ms: number): string => {
      clock.pass(ms);
      now.text = text;
      void display.changed();
      return out.fresh();
    };
    expect(say(null, 0)).toBe('');
    expect(say('sending 1 of 3 rows', 0)).toBe('12:03:05 sending 1 of 3 rows\n');
    expect(say('sending 2 of 3 rows', 4_999)).toBe('');
    expect(say('sending 3 of 3 rows', 1)).toBe('12:03:10 sending 3 of 3 rows\n');
    expect(say('sending 3 of 3 rows', 60_000)).toBe('');
    expect(out.text()).not.toContain('\u001b');
  });

  test('plain: notices appear at once; finished lines are left to the next change', () => {
    const out = sink();
    const clock = new IdleClock(new Date(2026, 0, 15, 9, 0, 0).getTime());
    const display = createDisplay(view(), { stream: out, mode: 'plain', clock });
    display.notice('retry: a');
    display.notice('retry: b');
    display.finished('✓ job');
    expect(out.text()).toBe('09:00:00 retry: a\n09:00:00 retry: b\n');
  });

  test('none: notices only', () => {
    const out = sink();
    const display = createDisplay(
      { ...view(), plain: () => 'sending' },
      { stream: out, mode: 'none', clock: new IdleClock() },
    );
    void display.changed();
    display.finished('✓ job');
    display.notice('warning: a');
    expect(out.text()).toBe('warning: a\n');
  });

  test('live: opens at the first change, shows finished lines above, closes once', async () => {
    const out = sink({ columns: 40 });
    const display = createDisplay(view(), {
      stream: out,
      mode: 'live',
      clock: new IdleClock(),
    });
    expect(out.text()).toBe('');
    await display.changed();
    expect(bare(out.fresh())).toBe('\r \r⠋ live\r');
    display.finished('✓ job');
    expect(bare(out.fresh())).toBe('\r \r✓ job\n\r \r⠋ live\r');
    void display.close();
    void display.close();
    void display.changed();
    expect(out.fresh()).toBe(`${WIPE}${SHOW}`);
  });
});

test('createDisplay: one that is closed while it opens draws nothing', async () => {
  const out = sink({ columns: 40 });
  const view = { live: () => ['live'], plain: () => null };
  const display = createDisplay(view, { stream: out, mode: 'live', clock: new IdleClock() });
  const shown = display.changed();
  void display.close();
  await shown;
  expect(out.text()).toBe('');
});

describe('waiting', () => {
  const terminal = (out: ReturnType<typeof sink>) => ({
    ...{ stderr: out, env: {}, flags: {} },
    stop: new AbortController().signal,
  });

  test('a wait that lasts shows a spinner and wipes it, also when the work fails', async () => {
    const out = sink({ columns: 40 });
    const work = async (): Promise<never> => {
      await expect.poll(() => out.text()).toContain('reading');
      throw new Error('refused');
    };
    const given = 'reading\nu-1\x1b[31m'; // an identifier may hold anything
    await expect(waiting(given, terminal(out), work, { patienceMs: 0 })).rejects.toThrow('refused');
    expect(bare(out.text())).toContain('⠋ reading u-1');
    expect(out.text()).not.toContain('\x1b[31m');
    expect(out.text().endsWith(SHOW)).toBe(true);
  });

  test('a quick reply shows nothing', async () => {
    const out = sink({ columns: 40 });
    expect(await waiting('reading', terminal(out), async () => 42)).toBe(42);
    expect(out.text()).toBe('');
  });

  test('a pipe shows nothing', async () => {
    const out = sink();
    const wait = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
    await waiting('reading', terminal(out), wait, { patienceMs: 0 });
    expect(out.text()).toBe('');
  });
});
