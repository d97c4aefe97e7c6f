/** What all views are made of: a view with its data, a list page by page, and the parts of both. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { addressOf, type Overview, type Route, to, useLive } from './data.js';
import { count, stateColor, time, visible } from './format.js';

interface Shell {
  overview?: Overview | undefined;
  go(route: Route, replace?: boolean): void;
}

export const ShellContext = createContext<Shell>({ go: () => {} });
export const useShell = (): Shell => useContext(ShellContext);

const PAGE_SIZE = 50;

interface Children {
  children: ComponentChildren;
}

export function Link({ current, children, ...props }: Children & { to: Route; current?: boolean }) {
  const { go } = useShell();
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(props.to);
  };
  return (
    <a href={addressOf(props.to)} aria-current={current ? 'page' : undefined} onClick={follow}>
      {children}
    </a>
  );
}

/** Text from imports: isolated, so that it cannot change the direction of other text, with hidden characters shown. */
export const Data = ({ text, most = 300 }: { text: string; most?: number }) => (
  <bdi>{visible(text.length > most ? `${text.slice(0, most)}…` : text)}</bdi>
);

export const Time = ({ iso }: { iso: string }) => (
  <time dateTime={iso} title={iso}>
    {time(iso)}
  </time>
);

export const State = ({ status }: { status: string }) => (
  <span class={`pill ${stateColor(status)}`}>
    <Data text={status} />
  </span>
);

/** The heading of a view, and what is said beside it. It gets the focus when the view opens. */
export function Heading({ title, children }: Children & { title: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title).slice(0, 80)} · profiles sandbox`;
    if (document.activeElement === document.body || document.activeElement?.closest('main, nav'))
      heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="row">
      <h1 ref={heading} tabIndex={-1}>
        <Data text={title} />
      </h1>
      {children}
    </div>
  );
}

export const Section = (props: Children & { title: string; class?: string }) => (
  <section aria-label={props.title} class={props.class}>
    <h2>{props.title}</h2>
    {props.children}
  </section>
);

/** In place of what is not there. */
export const Empty = (props: Children & { title: string }) => <Section class="paper" {...props} />;

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

/** The commands to run in another terminal, so that an import arrives here. */
function ImportLines({ view }: { view: string }) {
  const { overview } = useShell();
  const lines = overview && [
    `export PROFILES_BASE_URL=${overview.base_url}`,
    `export PROFILES_LOOKUP_BASE_URL=${overview.lookup_base_url}`,
    `export PROFILES_TOKEN=${overview.any_token ? 'rehearsal' : "'the key it was started with'"}`,
  ];
  return (
    <>
      <p>Import a file, in another terminal:</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre class="paper command" tabIndex={0}>
        <code>
          {[...(lines ?? []), `profiles import ${view === 'users' ? view : 'companies'}.csv`].join('\n')}
        </code>
      </pre>
    </>
  );
}

interface ViewProps<A> {
  title: string;
  /** The path of its data in the API, with a query. */
  path: string;
  /** When this changes, the data is read again. Default: when anything in the sandbox changes. */
  revision?: unknown;
  /** What is said beside the heading; aloud, too, if it is the result of a search. */
  sum(answer: A): ComponentChildren;
  search?: string;
  /** The list that one thing is in. */
  back?: readonly [name: string, route: Route];
  /** What is above the data. */
  tools?: ComponentChildren;
  children(answer: A): ComponentChildren;
}

export function View<A>({ title, path, sum, search, back, tools, children, ...props }: ViewProps<A>) {
  const { overview } = useShell();
  const { data, error } = useLive<A>(path, props.revision ?? overview);
  return (
    <>
      {back && (
        <p>
          <span aria-hidden="true">← </span>
          <Link to={back[1]}>{back[0]}</Link>
        </p>
      )}
      <Heading title={title}>
        <p class="quiet" data-testid="sum" aria-live={search ? 'polite' : undefined}>
          {data ? sum(data) : error === undefined && 'reading…'}
        </p>
      </Heading>
      {tools}
      {error !== undefined && <p class="note bad">{error}</p>}
      {data !== undefined && children(data)}
    </>
  );
}

interface ListProps<A, T> extends Omit<ViewProps<A>, 'children'>, TableProps<T> {
  route: Route;
  rowsOf(answer: A): readonly T[];
  /** The number of rows on all pages. */
  found(answer: A): number;
}

/** A view of a table, page by page. */
export function List<A, T>({ route, rowsOf, found, path, ...props }: ListProps<A, T>) {
  const { page, search, view, region } = route;
  const { title } = props;
  const isAll = search === '' && route.only === 'all';
  const place = `&offset=${(page - 1) * PAGE_SIZE}&limit=${PAGE_SIZE}`;
  return (
    <View<A> {...props} path={path + place} search={search}>
      {(answer) => (
        <>
          {rowsOf(answer).length > 0 && <Table {...props} rows={rowsOf(answer)} />}
          {found(answer) === 0 && (
            <Empty title={isAll ? `No ${title.toLowerCase()} yet` : `None of the ${title.toLowerCase()}`}>
              {isAll ? <ImportLines view={view} /> : <Link to={to(view, { region })}>Show all</Link>}
            </Empty>
          )}
          <Pager route={route} found={found(answer)} />
        </>
      )}
    </View>
  );
}

function Pager({ route, found }: { route: Route; found: number }) {
  const { page } = route;
  const pages = Math.ceil(found / PAGE_SIZE);
  if (pages <= 1 && page === 1) return null;
  const [first, last] = [(page - 1) * PAGE_SIZE + 1, Math.min(found, page * PAGE_SIZE)];
  const link = (name: string, to: number) => <Link to={{ ...route, page: to }}>{name}</Link>;
  return (
    <nav class="row" aria-label="Pages">
      {page > 1 && link('First', 1)}
      {page > 1 && link('Previous', Math.max(1, Math.min(page - 1, pages)))}
      <span>{`${page > pages ? 'none' : `${count(first)}–${count(last)}`} of ${count(found)}`}</span>
      {page < pages && link('Next', page + 1)}
      {page < pages && link('Last', pages)}
    </nav>
  );
}
