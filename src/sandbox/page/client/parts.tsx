/** Components that several views use. */
import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { BASE, type Overview } from './data.js';
import { stateColor, time, visible } from './format.js';
import { formatRoute, type Route } from './route.js';

export interface Shell {
  overview: Overview | undefined;
  go(route: Route, replace?: boolean): void;
  /** Announces a text to screen readers. */
  announce(text: string): void;
}

export const ShellContext = createContext<Shell>({ overview: undefined, go: () => {}, announce: () => {} });
export const useShell = (): Shell => useContext(ShellContext);

/** The server refuses longer addresses. */
const LONGEST_ADDRESS = 12_000;

export interface Children {
  children: ComponentChildren;
}

export function Link({ to, current = false, children }: Children & { to: Route; current?: boolean }) {
  const { go } = useShell();
  const href = BASE + formatRoute(to);
  if (href.length > LONGEST_ADDRESS) return <span title="too long for a link">{children}</span>;
  return (
    <a
      href={href}
      aria-current={current ? 'page' : undefined}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}

/**
 * Text from imports: isolated, so that it cannot change the direction of other text, and with hidden
 * characters shown.
 */
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

/** The heading of a view, with what is said beside it. It gets the focus when the view opens. */
export function Heading({ children, title, sum }: Children & { title: string; sum?: ComponentChildren }) {
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
      <p class="sum" data-testid="sum">
        {sum}
      </p>
    </div>
  );
}

export function Section({ id, title, children }: Children & { id: string; title: string }) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

export function Empty({ title, children }: Children & { title: string }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export interface Column<T> {
  head: string;
  cell(row: T): ComponentChildren;
  /** The class of its cells. */
  class?: string;
  /** Whether its cells name their rows. */
  names?: true;
}

export interface TableProps<T> {
  class: string;
  /** For screen readers. */
  caption: string;
  columns: readonly Column<T>[];
  keyOf(row: T): string | number;
}

export function Table<T>({
  class: name,
  caption,
  columns,
  keyOf,
  rows,
}: TableProps<T> & { rows: readonly T[] }) {
  return (
    <table class={name}>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.head} scope="col" class={column.class}>
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ head, cell, class: kind, names }) =>
              names ? (
                <th key={head} scope="row" class={kind}>
                  {cell(row)}
                </th>
              ) : (
                <td key={head} class={kind}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Facts about one thing: names and values. Those without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value != null && (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ),
      )}
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
    <pre class="command" tabIndex={0}>
      <code>{[...(lines ?? []), `profiles import ${file}`].join('\n')}</code>
    </pre>
  );
}
