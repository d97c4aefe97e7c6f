/** The sandbox's page: its frame, and the view in it. */
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BASE, type Connection, useOverview } from './data.js';
import { count } from './format.js';
import { Job, Jobs } from './jobs.js';
import { Empty, Heading, Link, ShellContext } from './parts.js';
import { Profile } from './profile.js';
import { Profiles } from './profiles.js';
import { Properties } from './properties.js';
import { Request, Requests } from './requests.js';
import { formatRoute, parseRoute, profiles, type Route } from './route.js';
import { Settings } from './settings.js';

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
  const go = (to: Route, replace = false): void => {
    history[replace ? 'replaceState' : 'pushState'](null, '', BASE + formatRoute(to));
    if (to.view !== route.view) scrollTo(0, 0);
    setRoute(to);
  };
  const both = (kind: 'companies' | 'users'): number =>
    overview ? overview.profiles.default[kind] + overview.profiles.eu[kind] : 0;
  const kind = route.view === 'profiles' || route.view === 'profile' ? route.kind : undefined;
  const tabs: [name: string, to: Route, current: boolean, n: number | undefined][] = [
    ['Companies', profiles('companies'), kind === 'companies', both('companies')],
    ['Users', profiles('users'), kind === 'users', both('users')],
    ['Jobs', { view: 'jobs', page: 1 }, route.view === 'jobs' || route.view === 'job', overview?.jobs.total],
    [
      'Requests',
      { view: 'requests', only: 'all', page: 1 },
      route.view === 'requests' || route.view === 'request',
      overview?.requests,
    ],
    ['Properties', { view: 'properties' }, route.view === 'properties', undefined],
    ['Switches', { view: 'settings' }, route.view === 'settings', overview?.faults.length || undefined],
  ];
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
          {tabs.map(([name, to, current, n]) => (
            <Link key={name} to={to} current={current}>
              {name}
              {overview && n !== undefined && <span class="n"> {count(n)}</span>}
            </Link>
          ))}
        </nav>
        <Lamp connection={connection} />
      </header>
      <main id="main" tabIndex={-1}>
        <View route={route} />
      </main>
      <footer>
        {overview && (
          <dl class="addresses">
            <dt>Base URL</dt>
            <dd>{overview.base_url}</dd>
            {overview.eu_base_url !== null && (
              <>
                <dt>EU</dt>
                <dd>{overview.eu_base_url}</dd>
              </>
            )}
            <dt>Lookups</dt>
            <dd>{overview.lookup_base_url}</dd>
          </dl>
        )}
      </footer>
      <p class="unseen" aria-live="polite">
        {said}
      </p>
    </ShellContext.Provider>
  );
}

function View({ route }: { route: Route }) {
  switch (route.view) {
    case 'profiles':
      return <Profiles key={route.kind} route={route} />;
    case 'profile':
      return <Profile route={route} />;
    case 'jobs':
      return <Jobs route={route} />;
    case 'job':
      return <Job route={route} />;
    case 'requests':
      return <Requests route={route} />;
    case 'request':
      return <Request route={route} />;
    case 'properties':
      return <Properties />;
    case 'settings':
      return <Settings />;
    default:
      return (
        <>
          <Heading title="Not found">Not found</Heading>
          <Empty title="There is no such view">
            <Link to={profiles('companies')}>Companies</Link>
          </Empty>
        </>
      );
  }
}

function Lamp({ connection }: { connection: Connection }) {
  const text = { connecting: 'connecting', live: 'live', lost: 'not connected' }[connection];
  return (
    <p class={`lamp ${connection}`} role="status">
      <span aria-hidden="true" />
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
