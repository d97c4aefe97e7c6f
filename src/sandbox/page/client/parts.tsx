/** What all views are made of: a list, page by page, one thing in detail, and the parts of both. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import type { Kind } from '../../profile.js';
import { addressOf, type Live, type Overview, type Route, useLive } from './data.js';
import { count, stateColor, time, visible } from './format.js';

interface Shell {
  overview?: Overview | undefined;
  go(route: Route, replace?: boolean): void;
  /** Announces a text to screen readers. */
  announce(text: string): void;
}

export const ShellContext = createContext<Shell>({ go: () => {}, announce: () => {} });
export const useShell = (): Shell => useContext(ShellContext);

/** The server refuses longer addresses. */
const LONGEST_ADDRESS = 12_000;
const PAGE_SIZE = 50;

/** The profiles of a kind in both regions. */
export const both = (overview: Overview | undefined, kind: Kind): number =>
  overview ? overview.profiles.default[kind] + overview.profiles.eu[kind] : 0;

interface Children {
  children: ComponentChildren;
}

export function Link({ to, current = false, children }: Children & { to: Route; current?: boolean }) {
  const { go } = useShell();
  const href = addressOf(to);
  if (href.length > LONGEST_ADDRESS) return <span title="too long for a link">{children}</span>;
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={href} aria-current={current ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  );
}

/** Text from imports: isolated, so that it cannot change the direction of other text, with hidden characters shown. */
export function Data({ text, most = 300 }: { text: string; most?: number }) {
  return <bdi>{visible(text.length > most ? `${text.slice(0, most)}…` : text)}</bdi>;
}

export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={iso}>
      {time(iso)}
    </time>
  );
}

export function State({ status }: { status: string }) {
  return (
    <span class={`pill state ${stateColor(status)}`}>
      <Data text={status} />
    </span>
  );
}

interface HeadingProps {
  title: string;
  /** What is said beside it. */
  sum?: ComponentChildren;
  /** In place of the title. */
  children?: ComponentChildren;
}

/** The heading of a view. It gets the focus when the view opens. */
export function Heading({ title, sum, children = title }: HeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title).slice(0, 80)} · profiles sandbox`;
    if (document.activeElement === document.body || document.activeElement?.closest('main, nav'))
      heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="row">
      <h1 ref={heading} tabIndex={-1}>
        {children}
      </h1>
      <p class="quiet" data-testid="sum">
        {sum}
      </p>
    </div>
  );
}

export function Section({ title, children }: Children & { title: string }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Empty({ title, children }: Children & { title: string }) {
  return (
    <div class="paper">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A column, and the class of its cells. The cells of the first column name their rows. */
export type Column<T> = readonly [head: string, cell: (row: T) => ComponentChildren, kind?: string];

export interface TableProps<T> {
  class: string;
  /** For screen readers. */
  caption: string;
  columns: readonly Column<T>[];
  keyOf(row: T): string | number;
}

export function Table<T>({ columns, keyOf, rows, ...props }: TableProps<T> & { rows: readonly T[] }) {
  return (
    <table class={props.class}>
      <caption class="unseen">{props.caption}</caption>
      <thead>
        <tr>
          {columns.map(([head, , kind]) => (
            <th key={head} scope="col" class={kind}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(([head, cell, kind], index) => {
              const Cell = index === 0 ? 'th' : 'td';
              return (
                <Cell key={head} scope={index === 0 ? 'row' : undefined} class={kind}>
                  {cell(row)}
                </Cell>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Facts about one thing: names and values. Those without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  const given = facts.filter(([, value]) => value != null);
  return (
    <dl>
      {given.flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}:`}>{value}</dd>])}
    </dl>
  );
}

/** The commands to run in another terminal, so that an import of `file` arrives here. */
export function ImportLines({ file }: { file: string }) {
  const { overview } = useShell();
  const lines = overview && [
    `export PROFILES_BASE_URL=${overview.base_url}`,
    `export PROFILES_LOOKUP_BASE_URL=${overview.lookup_base_url}`,
    `export PROFILES_TOKEN=${overview.any_token ? 'rehearsal' : "'the key it was started with'"}`,
  ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <pre class="paper command" tabIndex={0}>
      <code>{[...(lines ?? []), `profiles import ${file}`].join('\n')}</code>
    </pre>
  );
}

interface ViewProps<A> {
  title: string;
  /** The path of its data in the API, with a query if it has pages. */
  path: string;
  /** When this changes, the data is read again. Default: when anything in the sandbox changes. */
  revision?: unknown;
  /** What is said beside the heading. */
  sum?(answer: A): ComponentChildren;
}

interface ListProps<A, T> extends ViewProps<A>, TableProps<T> {
  route: Route;
  rowsOf(answer: A): readonly T[];
  /** The number of rows on all pages. Default: there is one page. */
  found?(answer: A): number;
  /** What is above the table. */
  tools?: ComponentChildren;
  /** In place of a table without rows. */
  empty?(answer: A): ComponentChildren;
  onShown?(answer: A): void;
}

export function List<A, T>(props: ListProps<A, T>) {
  const { title, route, found, onShown } = props;
  const place = `&offset=${(route.page - 1) * PAGE_SIZE}&limit=${PAGE_SIZE}`;
  const live = useRead<A>(found ? props.path + place : props.path, props.revision);
  const { data, stale } = live;
  const rows = data === undefined ? [] : props.rowsOf(data);
  useEffect(() => {
    if (data !== undefined && !stale) onShown?.(data);
  }, [stale, route.search, data === undefined]);
  return (
    <>
      <Heading title={title} sum={data && props.sum?.(data)} />
      {props.tools}
      <Reading live={live} title={title} />
      {data !== undefined && (found?.(data) ?? rows.length) === 0 && props.empty?.(data)}
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
      <p class="back">
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

function Reading({ live: { data, error, stale }, title }: { live: Live<unknown>; title: string }) {
  if (error !== undefined && !stale) return <p class="note bad">{error}</p>;
  return data === undefined ? <p class="quiet">Reading {title}…</p> : null;
}

function Pager({ route, found }: { route: Route; found: number }) {
  const { page } = route;
  const pages = Math.max(1, Math.ceil(found / PAGE_SIZE));
  if (pages === 1 && page === 1) return null;
  const step = (name: string, wanted: number) =>
    wanted >= 1 && wanted <= pages && wanted !== page ? (
      <Link to={{ ...route, page: wanted }}>{name}</Link>
    ) : (
      <span aria-hidden="true">{name}</span>
    );
  const first = Math.min(found, (page - 1) * PAGE_SIZE + 1);
  return (
    <nav class="row" aria-label="Pages">
      {step('First', 1)}
      {step('Previous', page - 1)}
      <span>
        {count(first)}–{count(Math.min(found, page * PAGE_SIZE))} of {count(found)}
      </span>
      {step('Next', page + 1)}
      {step('Last', pages)}
    </nav>
  );
}
