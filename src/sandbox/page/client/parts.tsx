/** Components that several views use. */
import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import type { Kind } from '../../types.js';
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

/** The profiles of a kind in both regions. */
export const both = (overview: Overview | undefined, kind: Kind): number =>
  overview ? overview.profiles.default[kind] + overview.profiles.eu[kind] : 0;

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

/** A column, and the class of its cells. The cells of the first column name their rows. */
export type Column<T> = readonly [head: string, cell: (row: T) => ComponentChildren, kind?: string];

export interface TableProps<T> {
  class: string;
  /** For screen readers. */
  caption: string;
  columns: readonly Column<T>[];
  keyOf(row: T): string | number;
}

export function Table<T>(props: TableProps<T> & { rows: readonly T[] }) {
  const { columns, keyOf, rows } = props;
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
