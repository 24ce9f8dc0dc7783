// The waiting times of PostgreSQL.
import type { WaitingTime } from './waiting-time.ts'

export const databaseTimeouts = {
  connection: {
    ms: 3_000,
    what: 'A connection to PostgreSQL, new or returned to the pool',
    why: 'A reachable server accepts within milliseconds, and a request does not wait longer.',
    afterwards: 'The query fails.',
  },
  apiStatement: {
    ms: 10_000,
    what: 'A statement of the API, limited by PostgreSQL',
    why: 'Statements of the API take milliseconds. By then the client has given up.',
    afterwards: 'PostgreSQL cancels the statement, and the query fails.',
  },
  apiResponse: {
    ms: 11_000,
    what: 'Data from PostgreSQL while a statement of the API runs',
    why: 'PostgreSQL itself cancels the statement a second earlier, unless it hangs.',
    afterwards: 'The connection is closed, and the query fails.',
  },
  silence: {
    ms: 3_000,
    what: 'Data from PostgreSQL while a statement runs, before the server is asked about it',
    why: 'Nearly all statements take less, and asking costs a connection.',
    afterwards: 'Another connection asks whether the server works on the statement.',
  },
  silenceProbe: {
    ms: 4_000,
    what: 'The answer on another connection, while a statement is silent',
    why: 'With the silence before, a server that has disappeared costs 7 s.',
    afterwards: 'The server counts as unreachable. All connections to it are closed.',
  },
  hostProbe: {
    ms: 1_000,
    what: 'An answer of each host of a URL with several hosts, when the primary is looked for',
    why: 'A reachable server answers within milliseconds.',
    afterwards: 'The host does not count. The other hosts are asked at the same time.',
  },
  otherHosts: {
    ms: 250,
    what: 'Answers of the other hosts after one has said that it is the primary',
    why: 'A primary that was replaced may be up again, and only the latest one counts.',
    afterwards: 'The host that has answered is used.',
  },
  hostProbePause: {
    ms: 100,
    what: 'Between two rounds in which all hosts are asked who is the primary',
    why: 'Requests wait, and a round costs a connection to each host.',
    afterwards: 'All hosts are asked again.',
  },
  failoverWait: {
    ms: 5_000,
    what: 'A request that waits for a new primary, if the URL names several hosts',
    why: 'Promoting a replica takes one or two seconds.',
    afterwards: 'The request fails. Later ones ask all hosts once, until there is a primary.',
  },
  replicaCheck: {
    ms: 1_000,
    what: 'Between two checks of the replica of REPLICA_DATABASE_URL',
    why: 'The check is one cheap query. Until it fails, reads wait for a broken replica.',
    afterwards: 'The next check runs. Each answer of the replica is checked too.',
  },
  replicaAnswer: {
    ms: 1_000,
    what: 'An answer of the replica to a check',
    why: 'The same as for health checks. A busy process must not take it for an outage.',
    afterwards: 'The check has failed. After two in a row the replica is not used.',
  },
  replicaRead: {
    ms: 500,
    what: 'Figures or a document from the replica',
    why: 'Computing takes 17 ms at a million quotes (p95), and the primary needs time too.',
    afterwards: 'The primary is read, also by later requests until the replica may return.',
  },
  replicaLag: {
    ms: 1_000,
    what: 'How far the replica may be behind the primary',
    why: 'Figures are current up to the age of two seconds, and must be computed until then.',
    afterwards: 'Figures are computed from the primary.',
  },
  replicaReturn: {
    ms: 3_000,
    what: 'How long a replica must be up before it is used again, and the pause after an error',
    why: 'Reads and the log must not change with each check of a replica that just keeps up.',
    afterwards: 'The replica is used.',
  },
  replicaReadLog: {
    ms: 60_000,
    what: 'Between two log lines about failed reads of the replica',
    why: 'A replica that is slow fails a read every three seconds. A metric counts all.',
    afterwards: 'The next failed read is logged.',
  },
  migrationLock: {
    ms: 2_000,
    what: 'A lock that a migration needs',
    why: 'While a migration waits, later statements on the table wait too.',
    afterwards: 'The migration is rolled back and tried again after a pause.',
  },
  migrationPause: {
    ms: 3_000,
    what: 'Between two attempts of a migration to get its locks',
    why: 'The statements that waited can run, and a long transaction may end.',
    afterwards: 'The migration runs again.',
  },
  migrationWait: {
    ms: 600_000,
    what: 'The attempts of a migration to get its locks, in total',
    why: 'A dump or a report may take minutes. An upgrade should not hang for hours.',
    afterwards: 'scripts/migrate.ts fails. Earlier migrations remain applied.',
  },
  startRetry: {
    ms: 500,
    what: 'Between two attempts to reach PostgreSQL when the API starts',
    why: 'The API notices a started database soon, and two attempts a second are cheap.',
    afterwards: 'The next attempt runs, until START_TIMEOUT_SECONDS have passed.',
  },
  startLog: {
    ms: 5_000,
    what: 'Between two log lines with the same reason while the API waits for PostgreSQL',
    why: 'An operator sees that the process waits, and the log stays short.',
    afterwards: 'The reason is logged again.',
  },
} satisfies Record<string, WaitingTime>
