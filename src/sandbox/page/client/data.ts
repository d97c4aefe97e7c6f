/** Addresses of the views, and their data: answers of the sandbox, and the overview whenever it changes. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Overview, Reply } from '../../api.js';
import type { Kind, Region } from '../../profile.js';

export type { Overview, Reply };

/** The path of the page, including its key. */
export const BASE = document.body.dataset.base ?? '/';

/** Minimum time between two reads of a view while its data changes, in milliseconds. */
const REST_MS = 400;

/** Identifiers are in the query, where `.`, `..`, and `/` have no meaning. */
const DEFAULTS = {
  ...{ view: 'companies', kind: 'companies' as Kind, region: 'default' as Region, id: '', n: 1 },
  ...{ search: '', sort: '-updated', only: 'all', page: 1 },
};

/** A view and its parameters. A view ignores those of others. */
export type Route = typeof DEFAULTS;

export const to = (view: string, part: Partial<Route> = {}): Route => ({ ...DEFAULTS, ...part, view });

/** The route of the address that the window shows. */
export function here(): Route {
  const given = [...new URLSearchParams(location.search)]
    .filter(([name]) => Object.hasOwn(DEFAULTS, name))
    .map(([name, value]) => [name, name === 'page' || name === 'n' ? numberOf(value) : value]);
  return to(location.pathname.slice(BASE.length) || DEFAULTS.view, Object.fromEntries(given));
}

const numberOf = (text: string): number => Math.max(1, Math.trunc(Number(text)) || 1);

export function addressOf({ view, ...rest }: Route): string {
  const words = Object.entries(rest).filter(([name, value]) => value !== DEFAULTS[name as keyof Route]);
  return BASE + withQuery(view, Object.fromEntries(words));
}

/** A path with query parameters; empty ones are left out. */
export function withQuery(path: string, words: Record<string, string | number>): string {
  const given = Object.entries(words).filter(([, value]) => value !== '');
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
  return given.length === 0 ? path : `${path}?${query}`;
}

/** The sandbox answered with an error. */
class Refused extends Error {}

/** @throws Refused with the first error in the answer */
export async function call<T>(path: string, method = 'GET', body?: unknown): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const reply = await fetch(`${BASE}api/${path}`, init);
  const value = (await reply.json()) as T & { errors?: { message: string }[] };
  if (reply.ok) return value;
  throw new Refused(value.errors?.[0]?.message ?? `status ${reply.status}`);
}

/** Reads `path`, and again whenever `revision` changes, one read at a time, with a rest between two of one path. */
export function useLive<T>(path: string, revision: unknown): { data?: T; error?: string } {
  const [state, setState] = useState<{ data?: T; error?: string }>({});
  const reading = useRef({ path: '', last: Promise.resolve() });
  useEffect(() => {
    let over = false;
    const read = async (): Promise<void> => {
      if (over) return; // a later one is waiting, too
      if (reading.current.path === path) await new Promise((resolve) => setTimeout(resolve, REST_MS));
      reading.current.path = path;
      try {
        setState({ data: await call<T>(path) });
      } catch (error) {
        // Otherwise, the sandbox cannot be reached: the header says so, and the old data stays.
        if (error instanceof Refused) setState({ error: error.message });
      }
    };
    reading.current.last = reading.current.last.then(read);
    return () => {
      over = true;
    };
  }, [path, revision]);
  return state;
}

/** The overview, which the sandbox sends while this window is visible. */
export function useOverview(): { overview?: Overview; connection: 'connecting' | 'live' | 'lost' } {
  const [state, setState] = useState<ReturnType<typeof useOverview>>({ connection: 'connecting' });
  useEffect(() => {
    let source: EventSource | undefined;
    // Browsers open only a few connections to a host, so windows in the background close theirs.
    const follow = (): void => {
      source?.close();
      if (document.hidden) return;
      source = new EventSource(`${BASE}api/events`);
      source.onmessage = ({ data }) => setState({ overview: JSON.parse(data), connection: 'live' });
      // The browser reconnects by itself.
      source.onerror = () => setState((before) => ({ ...before, connection: 'lost' }));
    };
    follow();
    document.addEventListener('visibilitychange', follow);
  }, []);
  return state;
}
