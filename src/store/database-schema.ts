// The tables, and the migrations from older versions.
import type { DatabaseSync } from 'node:sqlite'
import { DatabaseUnusable } from './database-errors.ts'

/** Each migration runs once, in this order; new ones are added at the end. */
export const migrations: readonly string[] = [
  `CREATE TABLE items (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     box TEXT NOT NULL,
     lane TEXT NOT NULL,
     key TEXT NOT NULL,
     state TEXT NOT NULL,
     body TEXT NOT NULL,
     at INTEGER NOT NULL,
     not_before INTEGER NOT NULL DEFAULT 0,
     attempts INTEGER NOT NULL DEFAULT 0,
     retries INTEGER NOT NULL DEFAULT 0,
     interrupted INTEGER NOT NULL DEFAULT 0,
     sent INTEGER NOT NULL DEFAULT 0,
     ended_at INTEGER,
     why TEXT,
     UNIQUE (box, key)
   ) STRICT;
   CREATE INDEX items_open ON items (box, id) WHERE state IN ('waiting', 'running');
   CREATE INDEX items_of_lane ON items (lane, id);
   CREATE TABLE counts (box TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (box, name)) STRICT, WITHOUT ROWID;
   CREATE TABLE sessions (
     lane TEXT PRIMARY KEY,
     backend TEXT NOT NULL,
     session TEXT NOT NULL,
     confirmed INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  // A conversation may use several backends, each with a session of its own.
  `ALTER TABLE sessions RENAME TO sessions_1;
   CREATE TABLE sessions (
     lane TEXT NOT NULL,
     backend TEXT NOT NULL,
     session TEXT NOT NULL,
     confirmed INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     through INTEGER NOT NULL DEFAULT 0,
     totals TEXT,
     PRIMARY KEY (lane, backend)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO sessions (lane, backend, session, confirmed, updated_at, through)
     SELECT lane, backend, session, confirmed, updated_at,
       (SELECT coalesce(max(id), 0) FROM items WHERE items.lane = sessions_1.lane AND box = 'in' AND state = 'done')
     FROM sessions_1;
   DROP TABLE sessions_1;
   CREATE TABLE conversations (
     lane TEXT PRIMARY KEY,
     backend TEXT,
     model TEXT,
     fresh_from INTEGER NOT NULL DEFAULT 0,
     updated_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE turns (
     id INTEGER PRIMARY KEY,
     event INTEGER NOT NULL,
     at INTEGER NOT NULL,
     lane TEXT NOT NULL,
     source TEXT NOT NULL,
     kind TEXT NOT NULL,
     person TEXT,
     backend TEXT NOT NULL,
     model TEXT,
     ms INTEGER NOT NULL,
     first_word_ms INTEGER,
     input_tokens INTEGER,
     output_tokens INTEGER,
     cost_usd REAL,
     ok INTEGER NOT NULL,
     why TEXT
   ) STRICT;
   CREATE INDEX turns_by_time ON turns (at);`,
  // Who may talk to the agent: decisions about people, and the codes of those who ask.
  `CREATE TABLE people (
     chat TEXT NOT NULL,
     user TEXT NOT NULL,
     name TEXT NOT NULL,
     decision TEXT NOT NULL,
     at INTEGER NOT NULL,
     PRIMARY KEY (chat, user)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE pairing_codes (
     code TEXT PRIMARY KEY,
     chat TEXT NOT NULL,
     user TEXT NOT NULL,
     name TEXT NOT NULL,
     place TEXT NOT NULL,
     at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX pairing_codes_of_person ON pairing_codes (user, chat);`,
  // What a chat needs after a restart.
  `CREATE TABLE chat_state (
     chat TEXT NOT NULL,
     name TEXT NOT NULL,
     value TEXT NOT NULL,
     updated_at INTEGER NOT NULL,
     PRIMARY KEY (chat, name)
   ) STRICT, WITHOUT ROWID;`,
  // Which due times of a job were handled.
  `CREATE TABLE job_marks (
     kind TEXT NOT NULL,
     name TEXT NOT NULL,
     schedule TEXT NOT NULL,
     since INTEGER NOT NULL,
     due INTEGER,
     fired INTEGER,
     checked TEXT,
     PRIMARY KEY (kind, name)
   ) STRICT, WITHOUT ROWID;`,
  // Sub-agents, whose work is in `items`, and their posts.
  `CREATE TABLE subagents (
     n INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     key TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL,
     instruction TEXT NOT NULL,
     parent TEXT NOT NULL,
     place TEXT,
     root TEXT NOT NULL,
     depth INTEGER NOT NULL,
     owner INTEGER NOT NULL,
     person TEXT,
     model TEXT,
     at INTEGER NOT NULL,
     entered INTEGER NOT NULL DEFAULT 0,
     stopping INTEGER
   ) STRICT;
   CREATE INDEX subagents_of_root ON subagents (root, n);
   CREATE TABLE posts (
     id INTEGER PRIMARY KEY,
     channel TEXT NOT NULL,
     at INTEGER NOT NULL,
     sender TEXT NOT NULL,
     text TEXT NOT NULL
   ) STRICT;
   CREATE INDEX posts_of_channel ON posts (channel, id);`,
  // Who changed the guarded files, and their last known content, to find changes made while the gateway was not running.
  `CREATE TABLE changes (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     at INTEGER NOT NULL,
     file TEXT NOT NULL,
     events TEXT NOT NULL,
     lane TEXT,
     person TEXT,
     owner INTEGER NOT NULL,
     state TEXT NOT NULL,
     before TEXT,
     before_hash TEXT NOT NULL,
     after TEXT,
     after_hash TEXT NOT NULL,
     aside TEXT
   ) STRICT;
   CREATE INDEX changes_by_state ON changes (state, id);
   CREATE TABLE kept_files (file TEXT PRIMARY KEY, text TEXT, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
  // What is still to be written to the archive files. Items that ended before count as archived, without touching a row.
  `ALTER TABLE items ADD COLUMN archived INTEGER NOT NULL DEFAULT 1;
   UPDATE items SET archived = 0 WHERE state IN ('waiting', 'running');
   CREATE INDEX items_to_archive ON items (id) WHERE archived = 0 AND (box = 'out' OR state NOT IN ('waiting', 'running'));
   CREATE TABLE archive_intent (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL) STRICT;`,
  // The steps of an event and the prompt of its agent; deleted with the event.
  `CREATE TABLE steps (
     id INTEGER PRIMARY KEY,
     event INTEGER NOT NULL,
     at INTEGER NOT NULL,
     what TEXT NOT NULL,
     detail TEXT NOT NULL
   ) STRICT;
   CREATE INDEX steps_of_event ON steps (event);
   CREATE TABLE prompts (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     event INTEGER NOT NULL,
     at INTEGER NOT NULL,
     backend TEXT NOT NULL,
     model TEXT,
     prompt TEXT NOT NULL,
     system INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE system_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL) STRICT;
   CREATE INDEX prompts_of_event ON prompts (event);
   CREATE INDEX turns_of_event ON turns (event);
   CREATE TRIGGER items_forgotten AFTER DELETE ON items BEGIN
     DELETE FROM steps WHERE event = old.id;
     DELETE FROM prompts WHERE event = old.id;
   END;`,
  // Files uploaded in WebChat, with the key of the event that each belongs to.
  `CREATE TABLE uploads (
     id TEXT PRIMARY KEY,
     conversation TEXT NOT NULL,
     name TEXT NOT NULL,
     type TEXT NOT NULL,
     bytes INTEGER NOT NULL,
     at INTEGER NOT NULL,
     event TEXT
   ) STRICT, WITHOUT ROWID;`,
  // Turns that were running when the gateway was killed, until their file changes are handled; and the intended length of a delay.
  `CREATE TABLE killed_turns (event INTEGER PRIMARY KEY) STRICT;
   ALTER TABLE items ADD COLUMN delay INTEGER;`,
  // The sessions used last, however many there are.
  `CREATE INDEX sessions_by_use ON sessions (updated_at DESC);`,
  // Instructions of boot.md that were carried out.
  `CREATE TABLE boots (digest TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
  // The prompt that a session contains but has not answered, so that a retry does not send it again.
  'ALTER TABLE sessions ADD COLUMN heard TEXT',
  // Renames columns, tables and fields of events to the usual terms.
  `ALTER TABLE items RENAME COLUMN box TO queue;
   ALTER TABLE counts RENAME COLUMN box TO queue;
   ALTER TABLE job_marks RENAME TO job_states;
   ALTER TABLE kept_files RENAME TO guarded_files;
   ALTER TABLE sessions RENAME COLUMN heard TO received;
   UPDATE items SET body = json_remove(json_set(body, '$.sender', json(json_extract(body, '$.standing'))), '$.standing')
     WHERE queue = 'in' AND json_valid(body) AND json_type(body, '$.standing') IS NOT NULL;
   UPDATE items SET body = json_remove(json_set(body, '$.principal', json(json_extract(body, '$.behalf'))), '$.behalf')
     WHERE queue = 'in' AND json_valid(body) AND json_type(body, '$.behalf') IS NOT NULL;
   UPDATE items SET body = json_remove(json_set(body, '$.modelOverride', json(json_extract(body, '$.wish'))), '$.wish')
     WHERE queue = 'in' AND json_valid(body) AND json_type(body, '$.wish') IS NOT NULL;`,
  // How much descends from one event.
  `CREATE TABLE descents (
     origin TEXT PRIMARY KEY,
     person TEXT,
     at INTEGER NOT NULL,
     turns INTEGER NOT NULL,
     messages INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX descents_of_person ON descents (person, at);
   CREATE INDEX descents_by_time ON descents (at);
   ALTER TABLE subagents ADD COLUMN origin TEXT;`,
  // Browsers that are logged in, and the name of this gateway in their cookies.
  `CREATE TABLE logins (
     id TEXT PRIMARY KEY,
     hash TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL,
     at INTEGER NOT NULL,
     used_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE gateway (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL) STRICT;
   INSERT INTO gateway VALUES (1, lower(hex(randomblob(4))));`,
  // What agents have asked people. `used`: the answer has reached a turn.
  `CREATE TABLE requests (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     at INTEGER NOT NULL,
     lane TEXT NOT NULL,
     event INTEGER NOT NULL,
     digest TEXT NOT NULL,
     body TEXT NOT NULL,
     state TEXT NOT NULL DEFAULT 'open',
     used INTEGER NOT NULL DEFAULT 0,
     verdict TEXT,
     answered_by TEXT,
     answered_at INTEGER,
     always TEXT
   ) STRICT;
   ALTER TABLE conversations ADD COLUMN mode TEXT;
   ALTER TABLE conversations ADD COLUMN verbosity TEXT;
   CREATE INDEX requests_open ON requests (id) WHERE state = 'open';
   CREATE INDEX requests_of_event ON requests (event, digest);`,
  // What agents did in the turns of an event; deleted with the event.
  `CREATE TABLE work (
     id INTEGER PRIMARY KEY,
     event INTEGER NOT NULL,
     kind TEXT NOT NULL,
     at INTEGER NOT NULL,
     ended_at INTEGER,
     ok INTEGER,
     body TEXT NOT NULL
   ) STRICT;
   CREATE INDEX work_of_event ON work (event, kind);
   CREATE TRIGGER items_forgotten_with_work AFTER DELETE ON items BEGIN
     DELETE FROM work WHERE event = old.id;
   END;`,
]

export const schemaVersion = migrations.length

export function migrate(db: DatabaseSync, path: string): void {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version > schemaVersion)
    throw new DatabaseUnusable(
      'newer',
      `${path} was written by a newer version of Aetheel. Update Aetheel, or use another folder.`,
    )
  // Also takes the exclusive lock, so that a second gateway is refused here and not at its first message.
  db.exec('BEGIN IMMEDIATE')
  for (const sql of migrations.slice(version)) db.exec(sql)
  // Only on a change: a file that turns out to be damaged must stay as it is.
  if (version < schemaVersion) db.exec(`PRAGMA user_version = ${schemaVersion}`)
  db.exec('COMMIT')
}
