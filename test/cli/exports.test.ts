/**
 * Exports of programs that people use: the command that a person would type, and the items that arrive, byte for byte.
 * What arrives is written by hand. The files are made up, with the quirks of the programs.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { record } from '../support/recorder.js';
import { environmentOf, test } from '../support/sandbox.js';
import { shellWords } from '../support/shell-words.js';
import { hurried } from './place.js';

const EXPORTS = join(import.meta.dirname, '../../fixtures/exports');

interface Export {
  program: string;
  /** What follows `profiles import`. */
  line: string;
  kind: 'companies' | 'users';
  items: string[];
  /** Beginnings of what is warned of. */
  warnings?: string[];
}

const CASES: Export[] = [
  {
    program: 'HubSpot',
    line: `hubspot-companies.csv --kind companies --id 'Record ID' --keys snake_case --type 'Create Date=datetime:iso@Europe/Berlin' --type 'Is Public=boolean'`,
    kind: 'companies',
    items: [
      '{"company_id":"9000000001","metadata":{"company_name":"Acme, Inc.","company_owner":"Ann Lee","create_date":"2024-03-31T14:05:00+02:00","annual_revenue":18299000,"number_of_employees":51,"is_public":true,"associated_contact_ids":"51001;51002"}}',
      '{"company_id":"9000000002","metadata":{"company_name":"Łódź Metal \\"Foods\\"","create_date":"2024-01-15T09:30:00+01:00","is_public":false}}',
      '{"company_id":"9000000003","metadata":{"company_name":"O’Neil & Sons","company_owner":"Bo Karlsson","create_date":"2023-07-01T00:00:00+02:00","annual_revenue":1250000,"number_of_employees":1204,"is_public":true,"associated_contact_ids":"51003"}}',
      '{"company_id":"9000000004","metadata":{"company_name":"Globex","create_date":"2019-12-31T23:59:00+01:00","annual_revenue":0,"number_of_employees":7,"associated_contact_ids":"51004"}}',
      '{"company_id":"9000000005","metadata":{"company_name":"Initech","company_owner":"Ann Lee","create_date":"2021-10-31T12:00:00+01:00","annual_revenue":75000,"number_of_employees":12,"is_public":false,"associated_contact_ids":"51005;51006;51007"}}',
    ],
  },
  {
    program: 'Salesforce',
    line: 'salesforce-contacts.csv --kind users --id ID --company-id ACCOUNTID --type DONOTCALL=boolean --map SCORE__C=score',
    kind: 'users',
    items: [
      '{"user_id":"003Dn00000A1b2cIAB","company_id":"001Dn00000X9y8zIAB","metadata":{"FIRSTNAME":"Olu","LASTNAME":"García","EMAIL":"olu@example.com","CREATEDDATE":"2024-03-31T14:05:00.000Z","DONOTCALL":false,"score":12.0}}',
      '{"user_id":"003Dn00000A1b2dIAB","company_id":"001Dn00000X9y8zIAB","metadata":{"FIRSTNAME":"Wei","LASTNAME":"Nguyễn","CREATEDDATE":"2024-01-15T09:30:00.000Z","DONOTCALL":true,"score":7.5}}',
      '{"user_id":"003Dn00000A1b2eIAB","metadata":{"LASTNAME":"Lee","EMAIL":"lee@example.com","CREATEDDATE":"2023-07-01T00:00:00.000Z","DONOTCALL":false}}',
      '{"user_id":"003Dn00000A1b2fIAB","company_id":"001Dn00000X9y90IAB","metadata":{"FIRSTNAME":"José","LASTNAME":"O\'Brien","EMAIL":"jose@example.com","CREATEDDATE":"2019-12-31T23:59:59.000Z","DONOTCALL":false,"score":100.0}}',
      '{"user_id":"003Dn00000A1b2gIAB","company_id":"001Dn00000X9y90IAB","metadata":{"FIRSTNAME":"Ann","LASTNAME":"Lee, PhD","EMAIL":"ann@example.com","CREATEDDATE":"2021-10-31T12:00:00.000Z","DONOTCALL":true,"score":0.0}}',
    ],
    warnings: ['salesforce-contacts.csv: SCORE__C: trailing zeros are dropped: line 2: "12.0" becomes 12'],
  },
  {
    program: 'Stripe',
    line: `stripe-customers.csv --kind users --id id --type 'Created (UTC)=datetime:iso@UTC' --map 'Created (UTC)=created' --type Delinquent=boolean --map 'plan (metadata)=plan'`,
    kind: 'users',
    items: [
      '{"user_id":"cus_PqR1sT2uV3wX4y","metadata":{"Email":"ada@example.com","Name":"Ada Byron","created":"2024-03-31T14:05:00Z","Delinquent":false,"Currency":"usd","Total Spend":1234.50,"Payment Count":12,"plan":"pro"}}',
      '{"user_id":"cus_PqR1sT2uV3wX4z","metadata":{"Description":"Beta, invited","Email":"grace@example.com","Name":"Grace","created":"2024-01-15T09:30:00Z","Delinquent":true,"Currency":"eur","Total Spend":0.00,"Payment Count":0}}',
      '{"user_id":"cus_PqR1sT2uV3wX50","metadata":{"created":"2023-07-01T00:00:00Z","Delinquent":false,"Total Spend":99.00,"Payment Count":1,"plan":"free"}}',
      '{"user_id":"cus_PqR1sT2uV3wX51","metadata":{"Description":"Ünal","Email":"unal@example.com","Name":"Ünal \\"U\\" Kaya","created":"2019-12-31T23:59:00Z","Delinquent":false,"Currency":"eur","Total Spend":7.25,"Payment Count":3,"plan":"pro"}}',
      '{"user_id":"cus_PqR1sT2uV3wX52","metadata":{"Email":"mary@example.com","Name":"Mary","created":"2021-10-31T12:00:00Z","Delinquent":true,"Currency":"usd","Total Spend":20.00,"Payment Count":2,"plan":"007"}}',
    ],
    warnings: [
      'stripe-customers.csv: Total Spend: trailing zeros are dropped: line 2: "1234.50" becomes 1234.5',
    ],
  },
  {
    program: 'Mailchimp',
    line: `mailchimp-members.csv --kind users --id 'Email Address' --type 'Email Address=lower' --type OPTIN_TIME=datetime:iso@UTC --exclude LEID --exclude EUID`,
    kind: 'users',
    items: [
      '{"user_id":"ada@example.com","metadata":{"First Name":"Ada","Last Name":"Byron","MEMBER_RATING":4,"OPTIN_TIME":"2024-03-31T14:05:11Z","OPTIN_IP":"203.0.113.7","LATITUDE":51.5074,"TAGS":"\\"VIP\\",\\"Beta\\""}}',
      '{"user_id":"grace@example.com","metadata":{"First Name":"Grace","Last Name":"Hopper","MEMBER_RATING":5,"OPTIN_TIME":"2024-01-15T09:30:00Z","OPTIN_IP":"198.51.100.2","LATITUDE":40.7,"NOTES":"called\\ntwice"}}',
      '{"user_id":"mary@example.com","metadata":{"First Name":"Mary \\"M\\"","MEMBER_RATING":2,"OPTIN_TIME":"2023-07-01T00:00:59Z","TAGS":"\\"Beta\\""}}',
      '{"user_id":"jose@example.com","metadata":{"First Name":"José","MEMBER_RATING":3,"OPTIN_TIME":"2019-12-31T23:59:59Z","OPTIN_IP":"2001:db8::1","LATITUDE":-33.45}}',
      '{"user_id":"wei@example.com","metadata":{"MEMBER_RATING":1,"OPTIN_TIME":"2021-10-31T12:00:00Z","OPTIN_IP":"203.0.113.9","LATITUDE":0,"TAGS":"\\"VIP\\""}}',
    ],
  },
  {
    program: 'Intercom',
    line: `intercom-users.csv --type 'Signed up=datetime' --type 'Last seen=datetime' --type 'Unsubscribed from Emails=boolean'`,
    kind: 'users',
    items: [
      '{"user_id":"u-1001","company_id":"c-1","metadata":{"Name":"Ada Byron","Email":"ada@example.com","Company name":"Acme, Inc.","Signed up":"2024-03-31T14:05:11Z","Last seen":"2024-04-01T08:00:00Z","Web sessions":41,"Unsubscribed from Emails":false,"Tags":"VIP,Beta"}}',
      '{"user_id":"u-1002","company_id":"c-1","metadata":{"Name":"Grace","Email":"grace@example.com","Company name":"Acme, Inc.","Signed up":"2024-01-15T09:30:00Z","Web sessions":7,"Unsubscribed from Emails":true}}',
      '{"user_id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","metadata":{"Signed up":"2023-07-01T00:00:00Z","Last seen":"2023-07-01T00:00:01Z","Web sessions":1,"Unsubscribed from Emails":false}}',
      '{"user_id":"0042","company_id":"c-2","metadata":{"Name":"José 🚀","Email":"jose@example.com","Company name":"Globex","Signed up":"2019-12-31T23:59:59Z","Last seen":"2024-02-29T10:00:00Z","Web sessions":1200,"Unsubscribed from Emails":false,"Tags":"Beta"}}',
      '{"user_id":"42","company_id":"c-2","metadata":{"Name":"Mary","Email":"mary@example.com","Company name":"Globex","Signed up":"2021-10-31T12:00:00Z","Web sessions":0,"Unsubscribed from Emails":true}}',
    ],
  },
  {
    program: 'Excel, US',
    line: `excel-us.csv --encoding windows-1252 --trim --null '$-' --null '#N/A' --type 'Annual Revenue=money' --type Margin=percent --type Renewal=date:M/d/yyyy --type Active=boolean`,
    kind: 'companies',
    items: [
      '{"company_id":"C-1","metadata":{"Name":"Café Zoé","Annual Revenue":1234.5,"Margin":12.5,"Renewal":"2024-03-31","Active":true,"Phone":"4.91701E+11","Segment":"SMB"}}',
      '{"company_id":"C-2","metadata":{"Name":"Acme, \\"East\\" – Inc.","Annual Revenue":-20,"Margin":4,"Renewal":"2024-12-01","Active":false,"Phone":"(212) 555-0100","Segment":"Mid–Market"}}',
      '{"company_id":"C-3","metadata":{"Name":"Globex","Margin":0.25,"Renewal":"2023-01-15","Active":true}}',
      '{"company_id":"C-4","metadata":{"Name":"Line one\\nLine two","Margin":100,"Active":false,"Phone":"0170 1234567","Segment":"SMB"}}',
      '{"company_id":"C-5","metadata":{"Name":"O’Neil","Annual Revenue":18299000,"Margin":7,"Renewal":"2024-02-29","Active":true,"Phone":"2125550100"}}',
    ],
  },
  {
    program: 'Excel, German',
    line: `excel-german.csv --encoding windows-1252 --kind companies --id Kundennr --type 'Umsatz=money:1.234,56' --type 'Quote=percent:1.234,56' --type 'Kunde seit=date:dd.MM.yyyy' --type Aktiv=boolean:WAHR/FALSCH`,
    kind: 'companies',
    items: [
      '{"company_id":"0042","metadata":{"Firma":"Müller & Söhne","Umsatz":1234.5,"Quote":12.5,"Kunde seit":"2024-03-31","Aktiv":true,"PLZ":"01067"}}',
      '{"company_id":"0043","metadata":{"Firma":"Groß; Klein","Umsatz":-12,"Quote":4,"Kunde seit":"2024-12-01","Aktiv":false,"PLZ":"10115"}}',
      '{"company_id":"0044","metadata":{"Firma":"Luk GmbH","Quote":0.25,"Kunde seit":"2023-01-15","Aktiv":true}}',
      '{"company_id":"0045","metadata":{"Firma":"Bäcker „Ost“","Umsatz":18299000,"Quote":100,"Aktiv":false,"PLZ":"80331"}}',
      '{"company_id":"0046","metadata":{"Firma":"Zoë","Umsatz":7,"Quote":7,"Kunde seit":"2024-02-29","PLZ":"04109"}}',
    ],
  },
  {
    program: 'MySQL, SELECT … INTO OUTFILE',
    line: `mysql-outfile.csv --escape '\\' --null '\\N' --type created_at=datetime:iso@UTC`,
    kind: 'companies',
    items: [
      '{"company_id":"c1","metadata":{"name":"Acme \\"East\\"","employees":12,"revenue":1234.50,"created_at":"2024-03-31T14:05:00Z"}}',
      '{"company_id":"c2","metadata":{"name":"C:\\\\Temp","employees":7,"revenue":-20.00,"created_at":"2024-01-15T09:30:00Z","notes":"a, b"}}',
      '{"company_id":"c3"}',
      '{"company_id":"c4","metadata":{"name":"Łódź","employees":1204,"revenue":0.00,"created_at":"2019-12-31T23:59:59Z"}}',
      '{"company_id":"c5","metadata":{"name":"O\'Neil","employees":0,"revenue":99.99,"created_at":"2021-10-31T12:00:00Z","notes":"\\"quoted\\""}}',
    ],
    warnings: ['mysql-outfile.csv: revenue: trailing zeros are dropped: line 2: "1234.50" becomes 1234.5'],
  },
  {
    program: 'MySQL, mysql --batch',
    line: 'mysql-batch.tsv --quote none --null NULL --type created_at=datetime:iso@UTC',
    kind: 'companies',
    items: [
      '{"company_id":"c1","metadata":{"name":"Acme \\"East\\"","employees":12,"revenue":1234.50,"created_at":"2024-03-31T14:05:00Z"}}',
      '{"company_id":"c2","metadata":{"name":"\\"Beta\\" Ltd","employees":7,"revenue":-20.00,"created_at":"2024-01-15T09:30:00Z","notes":"a, b"}}',
      '{"company_id":"c3"}',
      '{"company_id":"c4","metadata":{"name":"Łódź","employees":1204,"revenue":0.00,"created_at":"2019-12-31T23:59:59Z"}}',
      '{"company_id":"c5","metadata":{"name":"O\'Neil","employees":0,"revenue":99.99,"created_at":"2021-10-31T12:00:00Z","notes":"line one"}}',
    ],
    warnings: ['mysql-batch.tsv: revenue: trailing zeros are dropped: line 2: "1234.50" becomes 1234.5'],
  },
  {
    program: 'PostgreSQL, COPY … (FORMAT csv, HEADER)',
    line: 'postgres-copy.csv --type active=boolean:t/f --type created_at=datetime',
    kind: 'users',
    items: [
      '{"user_id":"7d444840-9dc0-11d1-b245-5ffdce74fad2","company_id":"c1","metadata":{"name":"Ada \\"A\\" Byron","active":true,"score":1234.50,"created_at":"2024-03-31T14:05:11.123456Z","preferences":"{\\"theme\\": \\"dark\\", \\"beta\\": true}"}}',
      '{"user_id":"7d444841-9dc0-11d1-b245-5ffdce74fad2","company_id":"c1","metadata":{"name":"Grace","active":false,"score":-20.00,"created_at":"2024-01-15T09:30:00Z","preferences":"{}"}}',
      '{"user_id":"7d444842-9dc0-11d1-b245-5ffdce74fad2"}',
      '{"user_id":"7d444843-9dc0-11d1-b245-5ffdce74fad2","company_id":"c2","metadata":{"active":true,"score":0.00,"created_at":"2019-12-31T23:59:59Z"}}',
      '{"user_id":"7d444844-9dc0-11d1-b245-5ffdce74fad2","company_id":"c2","metadata":{"name":"two\\nlines","active":false,"score":99.99,"created_at":"2021-10-31T12:00:00Z","preferences":"{\\"n\\": 1}"}}',
    ],
    warnings: ['postgres-copy.csv: score: trailing zeros are dropped: line 2: "1234.50" becomes 1234.5'],
  },
  {
    program: 'PostgreSQL, COPY … (FORMAT text, HEADER)',
    line: `postgres-copy.txt --format tsv --quote none --null '\\N' --type active=boolean:t/f --type created_at=datetime`,
    kind: 'companies',
    items: [
      '{"company_id":"c1","metadata":{"name":"Acme \\"East\\"","active":true,"score":1234.50,"created_at":"2024-03-31T14:05:11Z"}}',
      '{"company_id":"c2","metadata":{"name":"\\"Beta\\" Ltd","active":false,"score":-20.00,"created_at":"2024-01-15T09:30:00Z"}}',
      '{"company_id":"c3"}',
      '{"company_id":"c4","metadata":{"active":true,"score":0.00,"created_at":"2019-12-31T23:59:59Z"}}',
      '{"company_id":"c5","metadata":{"name":"O\'Neil","active":false,"score":99.99,"created_at":"2021-10-31T12:00:00Z"}}',
    ],
    warnings: ['postgres-copy.txt: score: trailing zeros are dropped: line 2: "1234.50" becomes 1234.5'],
  },
  {
    program: 'BigQuery, JSON Lines',
    line: 'bigquery.ndjson --type employees=integer --type created_at=datetime',
    kind: 'companies',
    items: [
      '{"company_id":"c1","metadata":{"name":"Acme, Inc.","employees":12,"revenue":1234.5,"active":true,"created_at":"2024-03-31T14:05:11.123456Z","tags":["crm","beta"],"address":{"city":"Lyon","zip":"06900"}}}',
      '{"company_id":"c2","metadata":{"name":"Łódź","employees":9007199254740991,"revenue":-20,"active":false,"created_at":"2024-01-15T09:30:00Z","tags":[]}}',
      '{"company_id":"c3","metadata":{"tags":[]}}',
      '{"company_id":"c4","metadata":{"name":"","employees":0,"revenue":10000000000,"created_at":"2019-12-31T23:59:59Z","tags":["x"],"address":{"zip":"7"}}}',
      '{"company_id":"c5","metadata":{"name":"O\'Neil <&> Sons","employees":7,"active":true,"created_at":"2021-10-31T12:00:00Z","tags":[]}}',
    ],
  },
  {
    program: 'BigQuery, Parquet',
    line: 'bigquery.parquet',
    kind: 'companies',
    items: [
      '{"company_id":"42","metadata":{"name":"Acme, Inc.","revenue":1234.5,"active":true,"created_at":"2024-03-31T14:05:00Z","renewal":"2024-03-31","tags":["crm","beta"],"address":{"city":"Lyon","zip":"06900"},"external_number":"9007199254740993"}}',
      '{"company_id":"43","metadata":{"name":"Łódź","revenue":-20,"active":false,"created_at":"2019-12-31T23:59:59.123456Z","tags":[],"external_number":"7"}}',
      '{"company_id":"44","metadata":{"renewal":"2023-01-02","address":{"city":null,"zip":null}}}',
      '{"company_id":"45","metadata":{"name":"","revenue":0,"active":true,"tags":["x"],"address":{"city":"Rom","zip":null},"external_number":"0"}}',
      '{"company_id":"9007199254740993","metadata":{"name":"O\'Neil","revenue":99.99,"active":false,"created_at":"2021-10-31T12:00:00Z","renewal":"2024-02-29","tags":[],"external_number":"-1"}}',
    ],
  },
  {
    program: 'pandas, DataFrame.to_csv',
    line: 'pandas.csv --null NaN --type active=boolean --type created_at=datetime:iso@UTC --type score=number',
    kind: 'companies',
    items: [
      '{"company_id":"c1","metadata":{"name":"Acme, Inc.","employees":12.0,"score":0.1,"active":true,"created_at":"2024-03-31T14:05:11Z"}}',
      '{"company_id":"c2","metadata":{"name":"Beta \\"B\\"","employees":7.0,"active":false,"created_at":"2024-01-15T09:30:00Z"}}',
      '{"company_id":"c3","metadata":{"score":0.25,"active":true}}',
      '{"company_id":"c4","metadata":{"name":"Łódź","employees":1204.0,"score":100.0,"active":false,"created_at":"2019-12-31T23:59:59Z"}}',
      '{"company_id":"c5","metadata":{"name":"O\'Neil","employees":0.0,"score":2.5,"active":true,"created_at":"2021-10-31T12:00:00Z"}}',
    ],
    warnings: [
      'pandas.csv: column 1 has no name and is left out, with 5 values in it',
      'pandas.csv: employees: trailing zeros are dropped: line 2: "12.0" becomes 12',
    ],
  },
  {
    program: 'R, write.csv',
    line: 'r-write-csv.csv --null NA --type active=boolean',
    kind: 'companies',
    items: [
      '{"company_id":"c1","metadata":{"name":"Acme, Inc.","employees":12,"score":0.1,"active":true,"since":"2024-03-31"}}',
      '{"company_id":"c2","metadata":{"name":"Beta \\"B\\"","employees":7,"active":false,"since":"2024-01-15"}}',
      '{"company_id":"c3","metadata":{"score":1.5,"active":true}}',
      '{"company_id":"c4","metadata":{"name":"Łódź","employees":1204,"score":100,"since":"2019-12-31"}}',
      '{"company_id":"c5","metadata":{"name":"O\'Neil","employees":0,"score":2.5,"active":true,"since":"2021-10-31"}}',
    ],
    warnings: ['r-write-csv.csv: column 1 has no name and is left out, with 5 values in it'],
  },
  {
    program: 'SAP',
    line: `sap-customers.csv --encoding windows-1252 --skip-lines 3 --kind companies --id Debitor --type 'Saldo=number:1.234,56' --type 'Angelegt am=date:dd.MM.yyyy'`,
    kind: 'companies',
    items: [
      '{"company_id":"0000100042","metadata":{"Name 1":"Müller & Söhne GmbH","Saldo":1234.5,"Angelegt am":"2024-03-31","PLZ":"01067","Land":"DE"}}',
      '{"company_id":"0000100043","metadata":{"Name 1":"Groß AG","Saldo":-1250000,"Angelegt am":"2024-01-15","PLZ":"10115","Land":"DE"}}',
      '{"company_id":"0000100044","metadata":{"Name 1":"Café Zoé","Saldo":0,"Angelegt am":"2019-12-31","PLZ":"69001","Land":"FR"}}',
      '{"company_id":"0000100045","metadata":{"Name 1":"Meier; Huber OHG","Saldo":-99.99,"Angelegt am":"2021-10-31","PLZ":"80331","Land":"DE"}}',
      '{"company_id":"0000100046","metadata":{"Name 1":"Bäcker „Ost“"}}',
    ],
  },
];

describe('what is sent from an export of', () => {
  test.for(CASES)('$program', async ({ line, kind, items, warnings = [] }, { sandbox }) => {
    const cwd = scratch();
    const words = shellWords(line);
    copyFileSync(join(EXPORTS, words[0]!), join(cwd, words[0]!));
    const recorder = await record(sandbox);
    try {
      const env = { ...environmentOf(sandbox), PROFILES_BASE_URL: recorder.url };
      const { code, stdout, stderr } = await cli(['import', ...words, '--json'], {
        cwd,
        env,
        clock: hurried,
      });
      expect(code, stderr).toBe(0);
      expect(recorder.bodies.map((body) => body.replaceAll('},{"', '},\n{"'))).toEqual([
        `{"${kind}":[${items.join(',\n')}]}`,
      ]);
      const summary = JSON.parse(stdout) as { rows: unknown; warnings: string[] };
      expect(summary.rows).toMatchObject({ read: items.length, rejected: 0, completed: items.length });
      expect(summary.warnings).toEqual(warnings.map((text) => expect.stringContaining(text)));
    } finally {
      await recorder.stop();
    }
  });
});
