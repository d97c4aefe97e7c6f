/** The view of user properties: the lookup list, derived from imported users. */
import type { PropertyList } from '../wire.js';
import { useLive } from './data.js';
import { plural } from './format.js';
import { Command, Data, Empty, Heading, importLines, Table, useShell } from './parts.js';

export function Properties() {
  const { overview } = useShell();
  const revision = overview && `${overview.jobs.total} ${overview.jobs.unfinished}`;
  const { data, error } = useLive<PropertyList>('properties', revision);
  const own = data?.properties.filter((property) => !property.is_auto_property) ?? [];
  return (
    <>
      <div class="head">
        <Heading title="User properties">User properties</Heading>
        <p class="sum">
          {data &&
            `${plural(data.properties.length, 'property', 'properties')}, ${own.length} derived from imports`}
        </p>
      </div>
      {error && <p class="problem">{error.message}</p>}
      {data && own.length === 0 && (
        <Empty title="None derived yet">
          <p>Each metadata key of an imported user becomes a property. Import users, in another terminal:</p>
          <Command lines={importLines(overview, 'users.csv')} />
        </Empty>
      )}
      {data && (
        <Table
          class="properties"
          caption="User properties"
          head={[['Id', 'number'], 'Key', ['Name', 'mid'], 'Type', 'From']}
        >
          {data.properties.map((property) => (
            <tr key={property.key}>
              <td class="number">{property.id}</td>
              <th scope="row">
                <Data text={property.key} />
              </th>
              <td class="mid">
                <Data text={property.display_name} />
              </td>
              <td>{property.data_type}</td>
              <td>{property.is_auto_property ? 'the service itself' : 'imports'}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
