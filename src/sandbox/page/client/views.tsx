/** The two kinds of views of data: a list, page by page, and one thing in detail. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { type Live, useLive } from './data.js';
import { count } from './format.js';
import { Heading, Link, Table, type TableProps, useShell } from './parts.js';
import { type Route, withQuery } from './route.js';

const PAGE_SIZE = 50;

interface ViewProps<A> {
  title: string;
  /** The path of its data in the API. */
  path: string;
  /** When this changes, the data is read again. Default: when anything in the sandbox changes. */
  revision?: unknown;
  /** What is said beside the heading. */
  sum?(answer: A): ComponentChildren;
}

interface ListProps<A, T> extends ViewProps<A>, TableProps<T> {
  route: Route;
  /** Parameters of the path, without those of the page. */
  words?: Record<string, string>;
  rowsOf(answer: A): readonly T[];
  /** The number of rows on all pages. Default: there is one page. */
  found?(answer: A): number;
  /** What is above the table: whenever the view is open, and when there is data. */
  tools?: ComponentChildren;
  above?(answer: A): ComponentChildren;
  /** In place of a table without rows. */
  empty(answer: A): ComponentChildren;
  onShown?(answer: A): void;
}

export function List<A, T>(props: ListProps<A, T>) {
  const { title, route, found, sum, rowsOf, words = {} } = props;
  const place = found ? { offset: (route.page - 1) * PAGE_SIZE, limit: PAGE_SIZE } : {};
  const path = withQuery(props.path, { ...words, ...place });
  const live = useRead<A>(path, props.revision);
  const { data, stale } = live;
  const rows = data === undefined ? [] : rowsOf(data);
  useEffect(() => {
    if (data !== undefined && !stale) props.onShown?.(data);
  }, [stale, route.search, data === undefined]);
  return (
    <>
      <Heading title={title} sum={data && sum?.(data)} />
      {props.tools}
      <Reading live={live} title={title} />
      {data !== undefined && props.above?.(data)}
      {data !== undefined && (found ? found(data) : rows.length) === 0 && props.empty(data)}
      {rows.length > 0 && <Table {...props} class={`${props.class}${stale ? ' stale' : ''}`} rows={rows} />}
      {data !== undefined && found && <Pager route={route} found={found(data)} />}
    </>
  );
}

interface DetailProps<A> extends ViewProps<A> {
  back: readonly [name: string, route: Route];
  heading?: ComponentChildren;
  children(answer: A): ComponentChildren;
}

export function Detail<A>({ title, path, revision, sum, back, heading, children }: DetailProps<A>) {
  const live = useRead<A>(path, revision);
  const data = live.stale ? undefined : live.data;
  return (
    <>
      <p class="crumbs">
        <Link to={back[1]}>{back[0]}</Link>
      </p>
      <Heading title={title} sum={data && sum?.(data)}>
        {heading}
      </Heading>
      <Reading live={live} title={title} />
      {data !== undefined && children(data)}
    </>
  );
}

function useRead<A>(path: string, revision: unknown): Live<A> {
  const { overview } = useShell();
  return useLive<A>(path, revision ?? overview);
}

function Reading({ live: { data, error }, title }: { live: Live<unknown>; title: string }) {
  if (error) return <p class="note bad">{error.message}</p>;
  return data === undefined ? <p class="quiet">Reading {title}…</p> : null;
}

function Pager({ route, found }: { route: Route; found: number }) {
  const { page } = route;
  const pages = Math.max(1, Math.ceil(found / PAGE_SIZE));
  if (pages === 1 && page === 1) return null;
  const first = Math.min(found, (page - 1) * PAGE_SIZE + 1);
  const last = Math.min(found, page * PAGE_SIZE);
  const step = (name: string, wanted: number) =>
    wanted >= 1 && wanted <= pages && wanted !== page ? (
      <Link to={{ ...route, page: wanted }}>{name}</Link>
    ) : (
      <span aria-hidden="true">{name}</span>
    );
  return (
    <nav class="row pager" aria-label="Pages">
      {step('First', 1)}
      {step('Previous', page - 1)}
      <span>
        {count(first)}–{count(last)} of {count(found)}
      </span>
      {step('Next', page + 1)}
      {step('Last', pages)}
    </nav>
  );
}
