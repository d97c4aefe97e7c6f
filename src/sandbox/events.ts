/** Sends the overview whenever it changes, as server-sent events. Does nothing while nobody listens. */
import type { ServerResponse } from 'node:http';
import type { Overview } from './api.js';

export interface Events {
  /** Answers with a stream that lasts until the client leaves, or until `stop`. */
  attach(reply: ServerResponse, headers: Record<string, string>): void;
  stop(): void;
}

const TICK_MS = 250;

export function createEvents(overview: () => Overview): Events {
  const listeners = new Set<ServerResponse>();
  let timer: NodeJS.Timeout | undefined;
  let last = '';

  function tick(): void {
    const current = overview();
    const text = comparable(current);
    if (text !== last) for (const reply of listeners) reply.write(`data: ${JSON.stringify(current)}\n\n`);
    last = text;
  }

  return {
    attach(reply, headers) {
      reply.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8' });
      reply.write(`retry: 1000\ndata: ${JSON.stringify(overview())}\n\n`);
      listeners.add(reply);
      timer ??= setInterval(tick, TICK_MS);
      reply.once('close', () => {
        listeners.delete(reply);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      });
    },
    stop() {
      clearInterval(timer);
      for (const reply of listeners) reply.end();
    },
  };
}

/** The overview as text, to see whether it has changed. While a job is unfinished, time alone is a change. */
function comparable(overview: Overview): string {
  return JSON.stringify(overview.jobs.unfinished > 0 ? overview : { ...overview, now: '' });
}
