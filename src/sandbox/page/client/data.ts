/** Data from the server: its answers, and the overview whenever it changes. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Overview, Reply } from '../../api.js';

export type { Overview };
export type Settings = Overview['settings'];
export type ProfileLine = Reply<'GET /profiles'>['profiles'][number];
export type ProfileDetail = NonNullable<Reply<'GET /profile'>['profile']>;
export type Shown = Omit<ProfileDetail['fields'][number], 'key'>;
export type StoryEntry = ProfileDetail['story'][number];
export type JobLine = Reply<'GET /jobs'>['jobs'][number];
export type RequestLine = Reply<'GET /requests'>['requests'][number];
export type { Reply };

/** The path of the page, including its key. */
export const BASE = document.body.dataset.base ?? '/';

/** Minimum time between two reads of a view while its data changes, in milliseconds. */
const REST_MS = 400;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** @throws ApiError with the first error in the answer */
export async function call<T>(path: string, method = 'GET', body?: unknown): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const reply = await fetch(`${BASE}api/${path}`, init);
  const value = (await reply.json()) as T & { errors?: { details: string; message: string }[] };
  if (reply.ok) return value;
  const [first] = value.errors ?? [];
  throw new ApiError(reply.status, first?.message ?? `status ${reply.status}`);
}

export interface Live<T> {
  data: T | undefined;
  error: ApiError | undefined;
  /** Whether the data belongs to an earlier path. */
  stale: boolean;
}

/**
 * Reads `path` now and whenever `revision` changes, one read at a time. A new path is read at once; a new
 * revision at the earliest `REST_MS` after the last read.
 */
export function useLive<T>(path: string, revision: unknown): Live<T> {
  const [state, setState] = useState<{ path: string; data?: T; error?: ApiError }>({ path });
  const wanted = useRef({ path, revision });
  const busy = useRef(false);
  wanted.current = { path, revision };

  useEffect(() => {
    if (busy.current) return; // the loop that is running will read again
    busy.current = true;
    void (async () => {
      for (;;) {
        const reading = wanted.current;
        try {
          const data = await call<T>(reading.path);
          setState({ path: reading.path, data });
        } catch (error) {
          if (error instanceof ApiError) setState({ path: reading.path, error });
          // Otherwise, the sandbox cannot be reached: the header says so, and the old data stays.
        }
        const moved = (): boolean => wanted.current.path !== reading.path;
        if (!moved()) await rest(REST_MS, moved);
        if (!moved() && wanted.current.revision === reading.revision) break;
      }
      busy.current = false;
    })();
  }, [path, revision]);

  return {
    data: state.data,
    error: state.path === path ? state.error : undefined,
    stale: state.path !== path,
  };
}

/** Waits, but ends early if `over` returns true. */
async function rest(ms: number, over: () => boolean): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until && !over()) await new Promise((resolve) => setTimeout(resolve, 20));
}

export type Connection = 'connecting' | 'live' | 'lost';

/** The overview, which the sandbox sends while this window is visible. */
export function useOverview(): { overview: Overview | undefined; connection: Connection } {
  const [overview, setOverview] = useState<Overview>();
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => {
    let source: EventSource | undefined;
    const open = (): void => {
      if (source !== undefined) return;
      source = new EventSource(`${BASE}api/events`);
      source.onmessage = ({ data }: MessageEvent<string>) => {
        setOverview(JSON.parse(data) as Overview);
        setConnection('live');
      };
      source.onerror = () => setConnection('lost'); // the browser reconnects by itself
    };
    const close = (): void => {
      source?.close();
      source = undefined;
    };
    // Browsers open only a few connections to a host, so windows in the background close theirs.
    const onVisibility = (): void => (document.hidden ? close() : open());
    onVisibility();
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      close();
    };
  }, []);
  return { overview, connection };
}
