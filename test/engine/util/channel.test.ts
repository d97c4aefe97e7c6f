import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Channel, tap } from '../../../src/engine/util/channel.js';
import { collected } from '../../support/collected.js';
import { growth } from '../../support/measure.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Channel', () => {
  test('what its reader pushes while it reads is read too', async () => {
    const channel = new Channel<number>();
    channel.push(1);
    const read: number[] = [];
    for await (const value of channel) {
      read.push(value);
      if (value < 4) channel.push(value + 1);
      else channel.close();
    }
    expect(read).toEqual([1, 2, 3, 4]);
  });

  test('keeps the order of any pushes, whenever they come', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('push', 'turn', 'tick')), async (steps) => {
        const channel = new Channel<number>();
        const read = collected(channel);
        const pushed: number[] = [];
        for (const [i, step] of steps.entries()) {
          if (step === 'turn') await turn();
          if (step === 'tick') await null;
          if (step !== 'push') continue;
          channel.push(i);
          pushed.push(i);
        }
        channel.close();
        expect(await read).toEqual(pushed);
      }),
    );
  });

  test('a long queue is read in a time that grows with its length, not with its square', async () => {
    const pass = async (n: number): Promise<void> => {
      const channel = new Channel<number>();
      for (let i = 0; i < n; i++) channel.push(i);
      channel.close();
      let sum = 0;
      for await (const value of channel) sum += value;
      expect(sum).toBe((n * (n - 1)) / 2);
    };
    // Shifted off one by one, 200,000 values take half a minute.
    expect(await growth(pass, 20_000)).toBeLessThan(40);
  });
});

describe('tap', () => {
  async function* source(log: string[]): AsyncGenerator<number, string> {
    try {
      yield 1;
      yield 2;
      return 'done';
    } finally {
      log.push('closed');
    }
  }

  test('shows each value before it passes it on, and gives what the source gives', async () => {
    const log: string[] = [];
    const tapped = tap(source(log), (value) => log.push(`saw ${value}`));
    for (;;) {
      const next = await tapped.next();
      log.push(next.done ? `returned ${next.value}` : `got ${next.value}`);
      if (next.done) break;
    }
    expect(log).toEqual(['saw 1', 'got 1', 'saw 2', 'got 2', 'closed', 'returned done']);
  });

  test('closes the source when its consumer stops', async () => {
    const log: string[] = [];
    for await (const value of tap(source(log), () => {})) {
      log.push(`got ${value}`);
      break;
    }
    expect(log).toEqual(['got 1', 'closed']);
  });

  test('closes the source when what looks on throws', async () => {
    const log: string[] = [];
    const tapped = tap(source(log), () => {
      throw new Error('cannot look');
    });
    await expect(tapped.next()).rejects.toThrow('cannot look');
    expect(log).toEqual(['closed']);
  });

  test('a source that fails fails', async () => {
    async function* broken(): AsyncGenerator<number> {
      yield 1;
      throw new Error('broken');
    }
    await expect(collected(tap(broken(), () => {}))).rejects.toThrow('broken');
  });
});
