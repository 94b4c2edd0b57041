// Readable names for activity types and for the steps of an event.

const activityTypes = {
  'event-set-aside': 'parked',
  'request-opened': 'approval needed',
  'request-reminder': 'approval reminder',
  'request-settled': 'approval ended',
  'turn-began': 'turn started',
  'turn-acted': 'tool',
  'turn-put-off': 'retry scheduled',
  'turn-moved': 'switched backend',
  'turn-troubled': 'problem',
  'warm-trouble': 'backend problem',
  'backend-cooldown': 'backend cooldown',
  'delivery-sent': 'delivered',
  'delivery-refused': 'delivery failed',
  'delivery-delayed': 'delivery delayed',
  'chat-ready': 'chat connected',
  'chat-lost': 'chat disconnected',
  'chat-trouble': 'chat problem',
  'workspace-trouble': 'workspace problem',
  'heartbeats-missing': 'no heartbeats',
}
const stepNames = {
  began: 'started',
  'first word': 'first output',
  ended: 'finished',
  moved: 'switched backend',
  'put off': 'retry scheduled',
  'set aside': 'parked',
  trouble: 'problem',
  'to be sent': 'delivery queued',
  sent: 'delivered',
  'not sent': 'delivery failed',
  fetched: 'picked up',
  'tool ended': 'tool finished',
}

/** @param {string} type of an entry of the activity log */
export const activityLabel = type => activityTypes[type] ?? type.replaceAll('-', ' ')
/** @param {string} what a step in the timeline of an event */
export const stepLabel = what => stepNames[what] ?? what
