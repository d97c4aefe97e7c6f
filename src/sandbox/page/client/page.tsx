/** The sandbox's page: its frame, and the view in it. */
import { type ComponentChildren, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Kind } from '../../profile.js';
import { addressOf, here, type Route, to, useOverview } from './data.js';
import { count } from './format.js';
import { Job, Jobs } from './jobs.js';
import { Facts, Link, ShellContext } from './parts.js';
import { Profile } from './profile.js';
import { Profiles, Properties } from './profiles.js';
import { Request, Requests } from './requests.js';
import { Switches } from './settings.js';

const VIEWS: Readonly<Record<string, (props: { route: Route }) => ComponentChildren>> = {
  ...{ companies: Profiles, users: Profiles, profile: Profile, jobs: Jobs, job: Job },
  ...{ requests: Requests, request: Request, properties: Properties, settings: Switches },
};

const LAMPS = {
  connecting: ['quiet', 'connecting'],
  live: ['good', 'live'],
  lost: ['bad', 'not connected: is the sandbox still running? Its address changes when it starts again'],
} as const;

function App() {
  const [route, setRoute] = useState(here);
  const { overview, connection } = useOverview();
  useEffect(() => addEventListener('popstate', () => setRoute(here())), []);
  const go = (next: Route, replace = false): void => {
    history[replace ? 'replaceState' : 'pushState'](null, '', addressOf(next));
    if (next.view !== route.view) scrollTo(0, 0);
    setRoute(next);
  };
  const held = (kind: Kind) => overview && overview.profiles.default[kind] + overview.profiles.eu[kind];
  const tabs: [name: string, view: string, n?: number | undefined][] = [
    ['Companies', 'companies', held('companies')],
    ['Users', 'users', held('users')],
    ['Jobs', 'jobs', overview?.jobs.total],
    ['Requests', 'requests', overview?.requests],
    ['Properties', 'properties'],
    ['Switches', 'settings', overview?.faults.length || undefined],
  ];
  const { view, kind, id, n } = route;
  // The view of one thing belongs to that of all.
  const tab = view === 'profile' ? kind : view.replace(/^(job|request)$/, '$1s');
  const [lamp, said] = LAMPS[connection];
  const View = Object.hasOwn(VIEWS, view) ? VIEWS[view]! : Profiles;
  return (
    <ShellContext.Provider value={{ overview, go }}>
      <a class="unseen" href="#main">
        Skip to content
      </a>
      <header class="top">
        <p class="brand">
          profiles <span>sandbox</span>
        </p>
        <nav aria-label="Views">
          {tabs.map(([name, one, n]) => (
            <Link key={name} to={to(one)} current={one === tab}>
              {name}
              {overview && n !== undefined && <span class="quiet"> {count(n)}</span>}
            </Link>
          ))}
        </nav>
        <p class={lamp} role="status">
          {said}
        </p>
      </header>
      <main id="main" tabIndex={-1}>
        <View key={`${view} ${id} ${n}`} route={route} />
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
    </ShellContext.Provider>
  );
}

document.body.replaceChildren();
render(<App />, document.body);
