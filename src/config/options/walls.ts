// Options about walls: what turns of guests and webhooks may do, what holds them, and what holds the owner's own turns.
import { guestNetwork, oneOf, serverNames, toolList, variableNames, yesOrNo } from '../kinds.ts'
import { block, option } from './option.ts'

export const walls = block(
  {
    'guest.tools': option({
      live: true,
      env: 'GUEST_TOOLS',
      kind: toolList,
      default: ['Read', 'Glob', 'Grep', 'WebSearch'],
      description:
        'The only tools in turns of guests and webhooks. They read and write in the folder of the guest (guests/NAME). With Bash, a guest can also read the login of the backend.',
    }),
    'guest.memory': option({
      live: true,
      env: 'GUEST_MEMORY',
      kind: yesOrNo,
      default: false,
      description:
        'Whether turns of guests and webhooks see memory.md and user.md, in their prompt and with memory_search. The agent can then repeat them to guests.',
    }),
    'guest.mcp': option({
      live: true,
      env: 'GUEST_MCP',
      kind: serverNames,
      default: [],
      description: 'Names of the MCP servers (mcp.servers) that turns of guests and webhooks get.',
    }),
    'guest.env': option({
      live: true,
      env: 'GUEST_ENV',
      kind: variableNames,
      default: [],
      description:
        'Names of environment variables that turns of guests and webhooks get, besides those that the backend needs itself. They get none of BACKEND_ENV and env.vars otherwise.',
    }),
    'guest.network': option({
      live: true,
      env: 'GUEST_NETWORK',
      kind: guestNetwork,
      default: ['model'],
      description:
        'What turns of guests and webhooks can reach. model: only the hosts of the model, and those of GUEST_MCP. Names of hosts (example.org, *.example.org, example.org:8443, 192.168.1.5:80) admit these too; web admits every public host on ports 80 and 443. open: what this machine can reach. Requires bubblewrap.',
    }),
    wall: option({
      env: 'WALL',
      kind: oneOf(['auto', 'bwrap', 'flags', 'none']),
      default: 'auto',
      description:
        'What holds turns of guests and webhooks. bwrap: bubblewrap (Linux). flags: only the flags of the backend, without tools that these cannot hold. auto: bwrap where it works, else flags. none: nothing, in the workspace itself.',
    }),
    sandbox: option({
      env: 'SANDBOX',
      kind: oneOf(['off', 'workspace', 'project']),
      default: 'off',
      description:
        "Where the owner's turns can write. off: wherever the gateway can. workspace: in the workspace. project: also in the Git repository around it. Requires bubblewrap.",
    }),
  },
  (values, { isPrivate }) => [
    ...(values['guest.network'].includes('open') && values['guest.network'].length > 1
      ? [{ key: 'guest.network' as const, why: 'contains open, which admits everything, and other entries' }]
      : []),
    ...values['guest.env'].filter(isPrivate).map(name => ({
      key: 'guest.env' as const,
      why: `names ${name}, which must not be passed to the backend`,
    })),
    ...(values.sandbox !== 'off' && ['flags', 'none'].includes(values.wall)
      ? [{ key: 'sandbox' as const, why: `requires bubblewrap, but wall is ${values.wall}` }]
      : []),
    ...(values.wall === 'none'
      ? [{ warning: 'wall is none: turns of guests and webhooks run with the rights of the gateway' }]
      : []),
  ],
)
