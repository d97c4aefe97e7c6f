/** The sandbox's page: its frame, and the view in it. */
import { type ComponentChildren, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BASE, type Connection, useOverview } from './data.js';
import { count } from './format.js';
import { Job, Jobs } from './jobs.js';
import { both, Empty, Facts, Heading, Link, ShellContext } from './parts.js';
import { Profile } from './profile.js';
import { Profiles } from './profiles.js';
import { Properties } from './properties.js';
import { Request, Requests } from './requests.js';
import { formatRoute, parseRoute, type Route, to } from './route.js';
import { Switches } from './settings.js';

const here = (): Route => parseRoute(location.pathname.slice(BASE.length) + location.search);

function App() {
  const [route, setRoute] = useState(here);
  const [said, setSaid] = useState('');
  const { overview, connection } = useOverview();
  useEffect(() => {
    const moved = (): void => setRoute(here());
    addEventListener('popstate', moved);
    return () => removeEventListener('popstate', moved);
  }, []);
  const go = (next: Route, replace = false): void => {
    history[replace ? 'replaceState' : 'pushState'](null, '', BASE + formatRoute(next));
    if (next.view !== route.view) scrollTo(0, 0);
    setRoute(next);
  };
  const tabs: [name: string, view: string, n?: number | undefined][] = [
    ['Companies', 'companies', both(overview, 'companies')],
    ['Users', 'users', both(overview, 'users')],
    ['Jobs', 'jobs', overview?.jobs.total],
    ['Requests', 'requests', overview?.requests],
    ['Properties', 'properties'],
    ['Switches', 'settings', overview?.faults.length || undefined],
  ];
  const View = Object.hasOwn(VIEWS, route.view) ? VIEWS[route.view]! : Nowhere;
  return (
    <ShellContext.Provider value={{ overview, go, announce: setSaid }}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <p class="brand">
          profiles <span>sandbox</span>
        </p>
        <nav aria-label="Views">
          {tabs.map(([name, view, n]) => (
            <Link key={name} to={to(view)} current={view === tabOf(route)}>
              {name}
              {overview && n !== undefined && <span class="quiet"> {count(n)}</span>}
            </Link>
          ))}
        </nav>
        <Lamp connection={connection} />
      </header>
      <main id="main" tabIndex={-1}>
        <View key={route.view} route={route} />
      </main>
      <footer>
        {overview && (
          <Facts
            facts={[
              ['Base URL', overview.base_url],
              ['EU', overview.eu_base_url],
              ['Lookups', overview.lookup_base_url],
            ]}
          />
        )}
      </footer>
      <p class="unseen" aria-live="polite">
        {said}
      </p>
    </ShellContext.Provider>
  );
}

/** The view that a route belongs to: that of one thing belongs to that of all. */
function tabOf({ view, kind }: Route): string {
  if (view === 'profile') return kind;
  return view === 'job' || view === 'request' ? `${view}s` : view;
}

const VIEWS: Readonly<Record<string, (props: { route: Route }) => ComponentChildren>> = {
  companies: Profiles,
  users: Profiles,
  profile: Profile,
  jobs: Jobs,
  job: Job,
  requests: Requests,
  request: Request,
  properties: Properties,
  settings: Switches,
};

function Nowhere() {
  return (
    <>
      <Heading title="Not found" />
      <Empty title="There is no such view">
        <Link to={to('companies')}>Companies</Link>
      </Empty>
    </>
  );
}

function Lamp({ connection }: { connection: Connection }) {
  const text = { connecting: 'connecting', live: 'live', lost: 'not connected' }[connection];
  return (
    <p class={`lamp ${connection}`} role="status">
      {text}
      {connection === 'lost' && (
        <span class="unseen">: is the sandbox still running? Its address changes when it starts again.</span>
      )}
    </p>
  );
}

const app = document.getElementById('app');
if (app !== null) {
  app.replaceChildren();
  render(<App />, app);
}
