// Deliberate faults in what is asked of people before an agent acts.
import type { Fault } from './fault.ts'

const contract = 'test/contracts/requests.contract.test.ts'

export const requestFaults: Record<string, Fault> = {
  'answer the CLI before it is on disk': {
    file: 'run/requests.ts',
    find: 'const settled = await settle(id, { ...how, used: answered !== undefined })',
    put: `if (how.verdict) answered?.settle(how.verdict)
    await new Promise(go => setTimeout(go, 300))
    const settled = await settle(id, { ...how, used: answered !== undefined })`,
  },
  'show a request before it is on disk': {
    file: 'run/requests.ts',
    find: 'const added = await store.add({ ...request, ask: shown(ask, parts.show) }, digestOf(ask))\n',
    put: `const [newest] = store.all(1, null)
    const unanswered = { state: 'open', answeredBy: null, answeredAt: null, verdict: null, always: null } as const
    const added = { ...request, ask: shown(ask, parts.show), ...unanswered, id: (newest?.id ?? 0) + 1, at: clock.now() }
    void store.add({ ...request, ask: shown(ask, parts.show) }, digestOf(ask))\n`,
    noticedBy: { test: contract, name: 'a request is on disk before anybody is told' },
  },
  'forget that an answer was used': {
    file: 'store/requests.ts',
    find: 'Number((await db.write(() => sql.use.run(id))).changes) > 0',
    put: 'id > 0',
    noticedBy: { test: contract, name: 'what was allowed passes once' },
  },
  'give an answer to any input': {
    file: 'run/requests.ts',
    find: '[ask.use.tool, ask.input]',
    put: '[ask.use.tool]',
    noticedBy: { test: contract, name: 'for exactly that input' },
  },
  'take the second of two answers': {
    file: 'store/requests.ts',
    find: "WHERE id = ? AND state = 'open'`,\n    ),\n    use",
    put: 'WHERE id = ?`,\n    ),\n    use',
    noticedBy: { test: contract, name: 'the second of two answers is late' },
  },
  'withdraw what a turn asked when the gateway stops': {
    file: 'run/requests.ts',
    find: 'signal.aborted && signal.reason !== cutOff && !request.lasting',
    put: 'signal.aborted && !request.lasting',
    noticedBy: { test: contract, name: 'one that is cut off by the gateway leaves it open' },
  },
  'wait for people before stopping': {
    file: 'app/run-gateway.ts',
    find: 'Promise.race([turns, untilAllAsk(gateway, ended.signal)])',
    put: 'Promise.race([turns, untilAllAsk(gateway, ended.signal).then(() => turns)])',
    noticedBy: { test: 'test/scenarios/asking-restarts.test.ts', name: 'it does not wait for people' },
  },
  'hand the message of a request to the agent': {
    file: 'store/history.ts',
    find: '!isRequestMessage(key)',
    put: '(!isRequestMessage(key) || true)',
    noticedBy: { test: 'test/scenarios/asking-chats.test.ts', name: 'and the agent does not read it' },
  },
  'let anybody answer': {
    file: 'send/request-messages.ts',
    find: '!isOwner && !approvers()',
    put: 'false && !approvers()',
    noticedBy: { test: 'test/scenarios/asking-chats.test.ts', name: 'click change nothing and are told so' },
  },
  'keep the slot while a person is asked': {
    file: 'run/requests.ts',
    find: "return parts.inbox.lend(lane, work, 'person')",
    put: 'return work()',
    noticedBy: { test: 'test/scenarios/asking.test.ts', name: 'its slot is free for the others' },
  },
}
