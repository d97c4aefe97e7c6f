/** Components that several views use. */
import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import type { Overview } from '../wire.js';
import { BASE } from './data.js';
import { count, stateColor, time, visible } from './format.js';
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

export function Link({
  to,
  class: name,
  current,
  children,
}: {
  to: Route;
  class?: string;
  current?: boolean;
  children: ComponentChildren;
}) {
  const { go } = useShell();
  const href = BASE + formatRoute(to);
  if (href.length > LONGEST_ADDRESS) return <span title="too long for a link">{children}</span>;
  return (
    <a
      href={href}
      class={name}
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
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return <bdi>{visible(cut)}</bdi>;
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
    <span class={`state ${stateColor(status)}`}>
      <Data text={status} />
    </span>
  );
}

/** The heading of a view. It gets the focus when the view opens. */
export function Heading({ children, title }: { children: ComponentChildren; title: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title).slice(0, 80)} · profiles sandbox`;
    if (document.activeElement === document.body || document.activeElement?.closest('main, nav'))
      heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** The heading of a column, and the class of its cells. */
type Column = string | readonly [text: string, kind: string];

export function Table({
  class: name,
  caption,
  head,
  children,
}: {
  class: string;
  /** For screen readers. */
  caption: string;
  head: readonly (Column | false)[];
  children: ComponentChildren;
}) {
  return (
    <table class={name}>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {head.map((column) => {
            if (column === false) return null;
            const [text, kind] = typeof column === 'string' ? [column] : column;
            return (
              <th key={text} scope="col" class={kind}>
                {text}
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

/** A command to type in a terminal. */
export function Command({ lines }: { lines: readonly string[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <pre class="command" tabIndex={0}>
      <code>{lines.join('\n')}</code>
    </pre>
  );
}

/** The commands to run in another terminal, so that an import arrives here. */
export function importLines(overview: Overview | undefined, file: string): string[] {
  if (overview === undefined) return [`profiles import ${file}`];
  return [
    `export PROFILES_BASE_URL=${overview.base_url}`,
    `export PROFILES_LOOKUP_BASE_URL=${overview.lookup_base_url}`,
    `export PROFILES_TOKEN=${overview.any_token ? 'rehearsal' : "'the key it was started with'"}`,
    `profiles import ${file}`,
  ];
}

export const PAGE_SIZE = 50;

export function Pager({ page, found, to }: { page: number; found: number; to(page: number): Route }) {
  const pages = Math.max(1, Math.ceil(found / PAGE_SIZE));
  if (pages === 1 && page === 1) return null;
  const first = Math.min(found, (page - 1) * PAGE_SIZE + 1);
  const last = Math.min(found, page * PAGE_SIZE);
  return (
    <nav class="pager" aria-label="Pages">
      {page > 1 ? <Link to={to(1)}>First</Link> : <span aria-hidden="true">First</span>}
      {page > 1 ? <Link to={to(page - 1)}>Previous</Link> : <span aria-hidden="true">Previous</span>}
      <span class="pager-where">
        {count(first)}–{count(last)} of {count(found)}
      </span>
      {page < pages ? <Link to={to(page + 1)}>Next</Link> : <span aria-hidden="true">Next</span>}
      {page < pages ? <Link to={to(pages)}>Last</Link> : <span aria-hidden="true">Last</span>}
    </nav>
  );
}
