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
const kind = z.enum(['companies', 'users']);
const inRegion = { kind, region: z.enum(['default', 'eu']).default('default') };
const oneProfile = { ...inRegion, id: z.string().min(1) };
const order = z
  .string()
  .regex(/^-?(?!-)./s)
  .default('-updated')
  .transform((text) => ({ by: text.replace(/^-/, ''), descending: text.startsWith('-') }));

/** Answers with what `act` returns. */
type Route<T> = (query: URLSearchParams, body: string) => T;

/** A route that takes these parameters. An unknown one is refused. */
const route =
  <T, Q extends z.ZodRawShape>(schema: Q, act: (query: z.infer<z.ZodObject<Q>>) => T): Route<T> =>
  (query) =>
    act(checked('query', z.strictObject(schema), Object.fromEntries(query)));

/** A route that takes a body, and no parameters. */
const withBody =
  <T, B>(schema: z.ZodType<B>, act: (body: B) => T): Route<T> =>
  (query, body) => {
    checked('query', z.strictObject({}), Object.fromEntries(query));
    return act(checked('body', schema, parseJson(body)));
  };

/** @throws Refusal */
function checked<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const { data, error } = schema.safeParse(value);
  if (!error) return data as T;
  const problems = error.issues.map(({ path, message }) => ({ where: path.join('.') || what, message }));
  throw new Refusal(422, problems);
}

/** The state of the sandbox at a glance. */
function overviewOf({ world, faults, limits, ledger, clock, urls, token }: Service) {
  return {
    now: new Date(clock.now()).toISOString(),
    /** False while completed jobs are still being added to the list of profiles. */
    up_to_date: world.catchUp(),
    profiles: world.profileCounts(),
    jobs: world.jobCounts(),
    requests: ledger.count,
    settings: views.settingsOf(limits),
    faults: faults.list(),
    ...{ base_url: urls.base, eu_base_url: urls.eu, lookup_base_url: urls.lookup },
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
    'GET /overview': route({}, () => overviewOf(service)),
    'GET /profiles': route(
      { ...inRegion, ...page, search: z.string().default(''), sort: order },
      async (query) => {
        const { total, found, rows } = await world.profiles(query);
        const { kind, region } = query;
        return { kind, region, total, found, profiles: rows.map(views.profileLine) };
      },
    ),
    'GET /profile': route(oneProfile, ({ kind, region, id }) => {
      const held = world.history(kind, id, region);
      const profile = held ? views.profileDetail(held) : null;
      return { profile, pending: world.pending(kind, id, region) };
    }),
    // As text, so that numbers stay as they were sent.
    'GET /profile.json': route(oneProfile, ({ kind, region, id }) => {
      const held = world.profile(kind, id, region);
      if (!held) throw new Refusal(404, { message: 'no such profile' });
      return held.json;
    }),
    'GET /jobs': route(page, ({ offset, limit }) => {
      const jobs = world.jobs(offset, limit).map(views.jobLine);
      return { now: now(), total: world.jobCounts().total, jobs };
    }),
    'GET /job': route({ id: z.string() }, ({ id }) => {
      const job = world.job(id);
      const request = job && ledger.ofJob(id);
      const ids = job?.record.status === 'completed' ? world.idsOf(job.n, MOST_IDS) : [];
      return {
        ...{ now: now(), job: job ? views.jobLine(job) : null, ids },
        request: request ? views.requestLine(request) : null,
      };
    }),
    'GET /requests': route({ ...page, only: z.enum(REQUEST_FILTERS).default('all') }, (query) => {
      const { total, entries } = ledger.page(query.only, query.offset, query.limit);
      return { total, requests: entries.map(views.requestLine) };
    }),
    'GET /request': route({ n: z.coerce.number().int().min(1) }, ({ n }) => {
      const entry = ledger.get(n);
      return { request: entry ? views.requestLine(entry) : null };
    }),
    'GET /properties': route({}, () => ({ properties: world.userProperties() })),
    'GET /faults': route({}, () => ({ faults: faults.list() })),
    'POST /faults': withBody(z.strictObject({ spec: z.string() }), ({ spec }) => {
      try {
        faults.add(spec);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        throw new Refusal(422, { where: 'spec', message: `${error.message}; ${error.hint}` });
      }
      return { faults: faults.list() };
    }),
    'DELETE /faults': route({ spec: z.string().optional() }, ({ spec }) => {
      if (spec === undefined) faults.clear();
      else if (!faults.remove(spec)) throw new Refusal(404, { message: `there is no fault ${spec}` });
      return { faults: faults.list() };
    }),
    'GET /ledger': route({ after: z.coerce.number().int().min(0).default(0) }, ({ after }) => ({
      ledger: ledger.list(after),
    })),
    'GET /settings': route({}, () => views.settingsOf(limits)),
    'PATCH /settings': withBody(views.settingsSchema, (change) => {
      Object.assign(limits, views.limitsOf(change));
      return views.settingsOf(limits);
    }),
    'POST /reset': route({}, () => {
      service.reset();
      return { reset: true };
    }),
  };
}

type Routes = ReturnType<typeof routesOf>;
/** What a request is answered with, such as `GET /jobs`. */
export type Reply<R extends keyof Routes> = Awaited<ReturnType<Routes[R]>>;

export interface Api {
  overview(): Overview;
  /** @param target path and query, such as `/profiles?kind=users` */
  answer(method: string, target: string, body: string): Promise<Answer>;
}

export function createApi(service: Service): Api {
  const routes: Readonly<Record<string, Route<unknown>>> = routesOf(service);
  return {
    overview: () => overviewOf(service),
    async answer(method, target, body) {
      const { pathname, searchParams } = new URL(target, 'http://localhost');
      const line = `${method} ${pathname}`;
      if (!Object.hasOwn(routes, line))
        return refuse(404, { message: `there are ${[...Object.keys(routes), 'GET /events'].join(', ')}` });
      try {
        const value = await routes[line]!(searchParams, body);
        const answer = json(line === 'POST /faults' ? 201 : 200, value);
        return typeof value === 'string' ? { ...answer, body: value } : answer;
      } catch (error) {
        return answerTo(error);
      }
    },
  };
}
