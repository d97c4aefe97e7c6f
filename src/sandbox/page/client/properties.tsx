/** The view of user properties: the lookup list, derived from imported users. */
import type { Reply } from './data.js';
import { plural } from './format.js';
import { type Column, Data, Empty, ImportLines } from './parts.js';
import type { Route } from './route.js';
import { List } from './views.js';

type PropertyList = Reply<'GET /properties'>;
type Property = PropertyList['properties'][number];

const COLUMNS: readonly Column<Property>[] = [
  ['Key', ({ key }) => <Data text={key} />],
  ['Id', ({ id }) => id, 'number'],
  ['Name', ({ display_name }) => <Data text={display_name} />, 'mid'],
  ['Type', ({ data_type }) => data_type],
  ['From', (property) => (property.is_auto_property ? 'the service itself' : 'imports')],
];

const own = ({ properties }: PropertyList): number =>
  properties.filter((property) => !property.is_auto_property).length;

export function Properties({ route }: { route: Route }) {
  return (
    <List<PropertyList, Property>
      title="User properties"
      route={route}
      path="properties"
      sum={(answer) =>
        `${plural(answer.properties.length, 'property', 'properties')}, ${own(answer)} derived from imports`
      }
      rowsOf={({ properties }) => properties}
      above={(answer) =>
        own(answer) === 0 && (
          <Empty title="None derived yet">
            <p>
              Each metadata key of an imported user becomes a property. Import users, in another terminal:
            </p>
            <ImportLines file="users.csv" />
          </Empty>
        )
      }
      class="properties"
      caption="User properties"
      columns={COLUMNS}
      keyOf={({ key }) => key}
      empty={() => null}
    />
  );
}
