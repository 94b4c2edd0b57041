// Faults on purpose: one line of the product is changed while it is loaded, to see that the campaign notices.
import { registerHooks } from 'node:module'

export const faults: Record<string, { readonly file: string; readonly find: string; readonly put: string }> = {
  'skip a commit': {
    file: 'store/database.ts',
    find: 'commit.run()\n',
    put: 'Math.random() < 0.15 ? rollback.run() : commit.run()\n',
  },
  'say accepted before it is on disk': {
    file: 'chat/webchat.ts',
    find: 'const answer = await offer(eventOf(conversation, frame.id, frame.text))',
    put: `client.send({ type: 'accepted', id: frame.id }); await new Promise(go => setTimeout(go, 50))
        const answer = await offer(eventOf(conversation, frame.id, frame.text))`,
  },
  'accept without a key': {
    file: 'chat/webchat.ts',
    find: '`${name}:${conversation}:${id}`',
    put: '`${name}:${conversation}:${id}:${Math.random()}`',
  },
  'forget the running event': {
    file: 'store/shelf.ts',
    find: "SET state = 'waiting', interrupted = 1 WHERE box",
    put: "SET state = 'done' WHERE box",
  },
  'forget to say that it was interrupted': {
    file: 'store/shelf.ts',
    find: 'interrupted: row.interrupted === 1',
    put: 'interrupted: false',
  },
  'send the final outside of the commit': {
    file: 'store/shelf.ts',
    find: "if (outcome.type !== 'cut') follow(",
    put: 'setTimeout(() => void db.write(() => follow(outcome.followUps ?? [], [])), 200); if (false) follow(',
  },
  'leave what ran before running': {
    file: 'run/strays.ts',
    find: 'if (left.length === 0) return 0',
    put: 'if (left.length >= 0) return 0',
  },
  'the newest first': {
    file: 'lanes/mirror.ts',
    find: 'const head = lane.waiting[0]\n        if (lane.running !== null',
    put: 'lane.waiting.reverse(); const head = lane.waiting[0]\n        if (lane.running !== null',
  },
  'never mark as delivered': {
    file: 'send/deliver.ts',
    find: "return { type: 'done' }",
    put: "return { type: 'later', at: clock.now() + 50 }",
  },
}

/** For the command line of a gateway that shall have this fault. */
export const faultArguments = (name: string): string[] => {
  if (!faults[name]) throw new Error(`no such fault: ${name}; there are: ${Object.keys(faults).join(', ')}`)
  return ['--import', `${import.meta.url}?fault=${encodeURIComponent(name)}`]
}

const chosen = new URL(import.meta.url).searchParams.get('fault')
const fault = chosen === null ? undefined : faults[chosen]
if (fault)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith(`/src/${fault.file}`)) return loaded
      const source = String(loaded.source)
      if (!source.includes(fault.find)) throw new Error(`the fault "${chosen}" does not fit ${fault.file} any more`)
      return { ...loaded, source: source.replace(fault.find, fault.put) }
    },
  })
