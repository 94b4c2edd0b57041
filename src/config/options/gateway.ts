// Options of the gateway itself: workspace, queue, heartbeats, web server, retention, shutdown and log.
import { logLevels } from '../../base/logs.ts'
import {
  credential,
  fileLevel,
  hostName,
  isLoopback,
  milliseconds,
  nameList,
  oneOf,
  systemTimezone,
  text,
  timezone,
  wholeNumber,
  yesOrNo,
} from '../kinds.ts'
import { block, option, optional } from './option.ts'

export const workspace = block({
  config_dir: option({
    env: 'CONFIG_DIR',
    flag: 'config-dir',
    kind: text,
    default: './config',
    outsideFile: true,
    description: "The workspace folder. It holds config.json, the persona and memory files, and the gateway's state.",
  }),
})

export const queue = block({
  'queue.max_concurrent': option({
    env: 'MAX_CONCURRENT_QUERIES',
    kind: wholeNumber(1, 1000),
    default: 5,
    description: 'Maximum number of conversations that are answered at the same time.',
  }),
  'queue.max_depth': option({
    env: 'MAX_QUEUE_DEPTH',
    kind: wholeNumber(1, 1_000_000),
    default: 100,
    description:
      'Maximum number of waiting events. Further events are refused, except for Discord messages sent while the gateway was offline. Jobs, hooks and webhooks may fill at most four fifths of the queue.',
  }),
  'queue.busy': option({
    env: 'BUSY',
    kind: oneOf(['reject', 'queue']),
    default: 'reject',
    description:
      'What to do with a new conversation while the maximum number of conversations is being answered: refuse it, or let it wait. Discord messages sent while the gateway was offline always wait.',
  }),
  'queue.mode': option({
    live: true,
    env: 'QUEUE_MODE',
    kind: oneOf(['wait', 'steer']),
    default: 'wait',
    description:
      'What to do with a message that arrives during a turn of its conversation: let it wait for its own turn, or tell it to the running turn (steer) if the backend can take it.',
  }),
  'queue.collect': option({
    env: 'COLLECT',
    kind: yesOrNo,
    default: false,
    description: 'Answer messages that arrive during a turn together.',
  }),
})

export const heartbeat = block({
  'heartbeat.enabled': option({
    live: true,
    env: 'HEARTBEAT',
    kind: yesOrNo,
    default: true,
    description: 'Run the heartbeats in heartbeat.md. If false, all heartbeats pause; cron jobs continue.',
  }),
  'heartbeat.silent': option({
    live: true,
    env: 'HEARTBEAT_SILENT',
    kind: yesOrNo,
    default: false,
    description: 'Do not send the answers of heartbeats, even if they name a channel. The log shows that they ran.',
  }),
  'heartbeat.default_channel': optional({
    live: true,
    env: 'OUTPUT_CHANNEL_ID',
    kind: text,
    description:
      'Channel for the answers of jobs, hooks and webhooks that name none, and for notifications to the owner. Examples: discord:123, webchat:home. If unset, they are not sent.',
  }),
})

export const http = block(
  {
    'http.host': option({
      env: 'HTTP_HOST',
      kind: hostName,
      default: '127.0.0.1',
      description: 'Address the web server listens on. Any address other than loopback requires http.token.',
    }),
    'http.names': option({
      env: 'HTTP_NAMES',
      kind: nameList,
      default: [],
      description:
        'Additional host names under which the pages may be opened, such as that of a tunnel or reverse proxy.',
    }),
    'http.port': option({
      env: 'HTTP_PORT',
      flag: 'port',
      kind: wholeNumber(0, 65_535),
      default: 8080,
      description: 'Port of the web server. 0 picks a free port.',
    }),
    'http.token': optional({
      env: 'HTTP_TOKEN',
      kind: credential(16),
      secret: true,
      description: 'Token for the pages and the API. If unset, one is generated at the first start and saved.',
    }),
  },
  values =>
    isLoopback(values['http.host']) || values['http.token'] !== null
      ? []
      : [
          {
            key: 'http.token',
            why: 'is not set; it is required while http.host is not a loopback address such as 127.0.0.1',
          },
        ],
)

const levels = [...logLevels, 'silent'] as const

export const gateway = block({
  timezone: option({
    live: true,
    env: 'TIMEZONE',
    kind: timezone,
    default: systemTimezone,
    lazy: true,
    description: "Time zone for schedules, daily budgets and archives. If unset, the system's time zone is used.",
  }),
  retention_days: option({
    live: true,
    env: 'RETENTION_DAYS',
    kind: wholeNumber(1, 36_500),
    default: 30,
    description: 'Number of days that finished events are kept.',
  }),
  stop_timeout_ms: option({
    live: true,
    env: 'STOP_TIMEOUT_MS',
    kind: milliseconds(0),
    default: 30_000,
    description: 'How long running turns may continue when the gateway stops.',
  }),
  'log.level': option({
    env: 'LOG_LEVEL',
    flag: 'log',
    kind: oneOf(levels),
    default: 'info',
    description: 'Minimum level of the messages that are logged.',
  }),
  'log.format': option({
    env: 'LOG_FORMAT',
    kind: oneOf(['auto', 'pretty', 'json']),
    default: 'auto',
    description: 'Format of the log. auto means pretty on a terminal and json otherwise.',
  }),
  'log.file': option({
    env: 'LOG_FILE',
    kind: fileLevel,
    default: true,
    description:
      'Also write the log to files (four of at most 5 MB), for "aetheel logs" and Mission Control. A level applies to these files instead of log.level.',
  }),
})
