// The app manifest: everything that Slack has to know about the app. templates/slack-manifest.json has the same text.

const scopes = [
  ...['app_mentions:read', 'assistant:write', 'chat:write', 'commands', 'files:read', 'files:write', 'users:read'],
  ...['channels:history', 'channels:read', 'groups:history', 'groups:read'],
  ...['im:history', 'im:read', 'im:write', 'mpim:history', 'mpim:read', 'metadata.message:read'],
]

const events = [
  ...['app_mention', 'message.channels', 'message.groups', 'message.im', 'message.mpim'],
  ...['assistant_thread_started', 'channel_rename', 'tokens_revoked', 'app_uninstalled'],
]

export const slashCommand = '/aetheel'

export const manifest = {
  display_information: { name: 'Aetheel', description: 'The coding agent on my own machine.' },
  features: {
    app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
    assistant_view: { assistant_description: 'The coding agent on my own machine.' },
    bot_user: { display_name: 'Aetheel', always_online: true },
    slash_commands: [
      {
        command: slashCommand,
        description: 'Talk to the agent, or use a command such as status, new or stop',
        usage_hint: '[help | status | new | stop | a question]',
        should_escape: true,
      },
    ],
  },
  oauth_config: { scopes: { bot: scopes } },
  settings: {
    event_subscriptions: { bot_events: events },
    interactivity: { is_enabled: true },
    org_deploy_enabled: false,
    socket_mode_enabled: true,
    token_rotation_enabled: false,
  },
}
