/**
 * The sandbox's own API: its data and its switches, for its page and for tests in other processes and
 * languages (docs/sandbox-api.md). The control route and the page serve it, and each decides who may call it.
 */
import * as z from 'zod';
import { UsageError } from '../engine/errors.js';
import { type Answer, answerTo, json, parseJson, Refusal, refuse } from './answer.js';
import { REQUEST_FILTERS } from './ledger.js';
import type { Service } from './operations.js';
import * as views from './views.js';

/** The number of rows in an answer: the default, and the maximum that can be requested. */
const PAGE_SIZE = 50;
const LARGEST_PAGE = 1_000;
/** The maximum number of identifiers shown for a job. */
const MOST_IDS = 20;

const page = {
  offset: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(LARGEST_PAGE).default(PAGE_SIZE),
};
const inRegion = {
  kind: z.enum(['companies', 'users']),
  region: z.enum(['default', 'eu']).default('default'),
};
const oneProfile = { ...inRegion, id: z.string().min(1) };
const sort = z
  .string()
  .regex(/^-?(?!-)./s)
  .default('-updated');

/** A route with the parameters of its query, and its body if it has one. An unknown parameter is refused. */
function route<T, Q extends z.ZodRawShape, B = undefined>(
  query: Q,
  act: (query: z.infer<z.ZodObject<Q>>, body: B) => Answer<T> | Promise<Answer<T>>,
  body?: z.ZodType<B>,
) {
  return async (given: URLSearchParams, text: string): Promise<Answer<T>> => {
    const asked = checked('query', z.strictObject(query), Object.fromEntries(given));
    return act(asked, body === undefined ? (undefined as B) : checked('body', body, parseJson(text)));
  };
}

/** @throws Refusal */
function checked<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (!error) return data as T;
  const problems = error.issues.map(({ path, message }) => ({ where: path.join('.') || what, message }));
  throw new Refusal(422, problems);
}

/** The state of the sandbox at a glance. */
function overviewOf({ world, faults, limits, ledger, clock, urls, token }: Service) {
  const upToDate = world.catchUp();
  return {
    now: new Date(clock.now()).toISOString(),
    profiles: world.profileCounts(),
    /** False while completed jobs are still being added to the list of profiles. */
    up_to_date: upToDate,
    jobs: world.jobCounts(),
    requests: ledger.count,
    settings: views.settingsOf(limits),
    faults: faults.list(),
    base_url: urls.base,
    eu_base_url: urls.eu,
    lookup_base_url: urls.lookup,
    /** Whether any well-formed API key is accepted. */
    any_token: token === null,
    /** They increase with every change of the profiles, or of the request log. */
    revisions: { profiles: world.revision, requests: ledger.revision },
  };
}

export type Overview = ReturnType<typeof overviewOf>;

function routesOf(service: Service) {
  const { world, faults, limits, ledger, clock } = service;
  const now = (): string => new Date(clock.now()).toISOString();
  return {
    'GET /overview': route({}, () => json(200, overviewOf(service))),
    'GET /profiles': route(
      { ...inRegion, ...page, search: z.string().default(''), sort },
      async ({ sort: order, ...query }) => {
        const by = { by: order.replace(/^-/, ''), descending: order.startsWith('-') };
        const { total, found, rows } = await world.profiles({ ...query, sort: by });
        const { kind, region } = query;
        return json(200, { kind, region, total, found, profiles: rows.map(views.profileLine) });
      },
    ),
    'GET /profile': route(oneProfile, ({ kind, region, id }) => {
      const held = world.history(kind, id, region);
      const profile = held ? views.profileDetail(held) : null;
      return json(200, { profile, pending: world.pending(kind, id, region) });
    }),
    'GET /profile.json': route(oneProfile, ({ kind, region, id }) => {
      const held = world.profile(kind, id, region);
      // Sent as text, so that numbers stay as they were sent.
      if (!held) throw new Refusal(404, { message: 'no such profile' });
      return { ...json(200, null), body: held.json };
    }),
    'GET /jobs': route(page, ({ offset, limit }) => {
      const jobs = world.jobs(offset, limit).map(views.jobLine);
      return json(200, { now: now(), total: world.jobCounts().total, jobs });
    }),
    'GET /job': route({ id: z.string() }, ({ id }) => {
      const job = world.job(id);
      const request = job && ledger.ofJob(id);
      return json(200, {
        now: now(),
        job: job ? views.jobLine(job) : null,
        ids: job?.record.status === 'completed' ? world.idsOf(job.n, MOST_IDS) : [],
        request: request ? views.requestLine(request) : null,
      });
    }),
    'GET /requests': route(
      { ...page, only: z.enum(REQUEST_FILTERS).default('all') },
      ({ only, offset, limit }) => {
        const { total, entries } = ledger.page(only, offset, limit);
        return json(200, { total, requests: entries.map(views.requestLine) });
      },
    ),
    'GET /request': route({ n: z.coerce.number().int().min(1) }, ({ n }) => {
      const entry = ledger.get(n);
      return json(200, { request: entry ? views.requestLine(entry) : null });
    }),
    'GET /properties': route({}, () => json(200, { properties: world.userProperties() })),
    'GET /faults': route({}, () => json(200, { faults: faults.list() })),
    'POST /faults': route(
      {},
      (_, { spec }) => {
        try {
          faults.add(spec);
        } catch (error) {
          if (!(error instanceof UsageError)) throw error;
          throw new Refusal(422, { where: 'spec', message: `${error.message}; ${error.hint}` });
        }
        return json(201, { faults: faults.list() });
      },
      z.strictObject({ spec: z.string() }),
    ),
    'DELETE /faults': route({ spec: z.string().optional() }, ({ spec }) => {
      if (spec === undefined) faults.clear();
      else if (!faults.remove(spec)) throw new Refusal(404, { message: `there is no fault ${spec}` });
      return json(200, { faults: faults.list() });
    }),
    'GET /ledger': route({ after: z.coerce.number().int().min(0).default(0) }, ({ after }) =>
      json(200, { ledger: ledger.list(after) }),
    ),
    'GET /settings': route({}, () => json(200, views.settingsOf(limits))),
    'PATCH /settings': route(
      {},
      (_, change) => {
        Object.assign(limits, views.limitsOf(change));
        return json(200, views.settingsOf(limits));
      },
      views.settingsSchema,
    ),
    'POST /reset': route({}, () => {
      service.reset();
      return json(200, { reset: true });
    }),
  };
}

type Routes = ReturnType<typeof routesOf>;
/** What a request is answered with, such as `GET /jobs`. */
export type Reply<R extends keyof Routes> =
  Awaited<ReturnType<Routes[R]>> extends Answer<infer T> ? T : never;

export interface Api {
  overview(): Overview;
  /** @param target path and query, such as `/profiles?kind=users` */
  answer(method: string, target: string, body: string): Promise<Answer>;
}

export function createApi(service: Service): Api {
  const routes = routesOf(service);
  return {
    overview: () => overviewOf(service),
    async answer(method, target, body) {
      const { pathname, searchParams } = new URL(target, 'http://localhost');
      const line = `${method} ${pathname}`;
      if (!Object.hasOwn(routes, line))
        return refuse(404, { message: `there are ${[...Object.keys(routes), 'GET /events'].join(', ')}` });
      try {
        return await routes[line as keyof Routes](searchParams, body);
      } catch (error) {
        return answerTo(error);
      }
    },
  };
}
