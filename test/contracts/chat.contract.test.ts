// The contract of every chat, looped over the registry, each with the fake server of its platform.
import { afterEach, describe, expect, test } from 'vitest'
import { buttonLimits } from '../../src/base/buttons.ts'
import type { Click, ClickReply, Outgoing } from '../../src/base/chat.ts'
import type { EventSink, NewEvent } from '../../src/base/event.ts'
import type { RemoteChat } from '../../src/base/remote-chats.ts'
import { discord } from './platforms/discord.ts'
import type { Platform } from './platforms/platform.ts'
import { slack } from './platforms/slack.ts'
import { telegram } from './platforms/telegram.ts'
import { webchat } from './platforms/webchat.ts'

const platforms: Record<'webchat' | RemoteChat, () => Promise<Platform>> = { webchat, discord, telegram, slack }

const final = (text: string, about = 'm'): Outgoing => ({
  key: `k-${text}`,
  kind: 'final',
  about,
  text,
  ok: true,
  action: null,
})
const never = new AbortController().signal
const opened: Platform[] = []
afterEach(async () => {
  for (const platform of opened.splice(0)) await platform.close()
})

describe.each(Object.keys(platforms) as (keyof typeof platforms)[])('the chat %s', name => {
  const open = async () => {
    const platform = await platforms[name]()
    opened.push(platform)
    return platform
  }
  const listen = (platform: Platform, sink: EventSink) => {
    const stop = new AbortController()
    const life = platform.chat.run(sink, stop.signal)
    return async () => {
      stop.abort()
      await life
    }
  }

  test('a message becomes an event with its own key and a place to reply to', async () => {
    const platform = await open()
    const heard: NewEvent[] = []
    await platform.arrive('room')
    const end = listen(platform, async event => {
      heard.push(event)
      return { type: 'accepted', id: heard.length, position: 0 }
    })
    await platform.reached()
    const id = platform.say('room', 'hello')
    platform.say('room', 'hello')
    await expect.poll(() => heard.length).toBe(2)
    expect(heard[0]).toMatchObject({
      source: name,
      what: { kind: 'message', id, text: 'hello' },
      replyTo: platform.place('room'),
    })
    expect(heard[0]?.key).not.toBe(heard[1]?.key)
    expect(heard[0]?.lane).toBe(heard[1]?.lane)
    await end()
  })

  test('it ends with the signal, and accepts nothing afterwards', async () => {
    const platform = await open()
    let heard = 0
    await platform.arrive('room')
    const end = listen(platform, async () => {
      heard++
      return { type: 'accepted', id: 1, position: 0 }
    })
    await platform.reached()
    await end()
    platform.say('room', 'too late')
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(heard).toBe(0)
  })

  test('a posted final was really shown, in order, and in the right place', async () => {
    const platform = await open()
    await platform.arrive('one')
    await platform.arrive('two')
    const [first, second, third] = [
      platform.say('one', 'a?'),
      platform.say('two', 'b?'),
      platform.say('one', 'c?'),
    ] as const
    expect((await platform.chat.post(platform.place('one'), final('a', first), never)).type).toBe('posted')
    expect(platform.seen('one')).toEqual([{ about: first, text: 'a' }])
    await platform.chat.post(platform.place('two'), final('b', second), never)
    await platform.chat.post(platform.place('one'), final('c', third), never)
    expect(platform.seen('one').map(one => one.text)).toEqual(['a', 'c'])
    expect(platform.seen('two').map(one => one.text)).toEqual(['b'])
  })

  test('a final posted twice under one key is shown once, or recognisably as the same', async () => {
    const platform = await open()
    await platform.arrive('one')
    const about = platform.say('one', 'a?')
    for (let i = 0; i < 2; i++) await platform.chat.post(platform.place('one'), final('a', about), never)
    expect(new Set(platform.seen('one').map(one => JSON.stringify(one))).size).toBe(1)
  })

  test('files are read within the scope of their delivery, and without one only if it has none', async () => {
    const platform = await open()
    await platform.arrive('one')
    const about = platform.say('one', 'a?')
    const scope = { folder: 'guests/ada', files: ['uploads/b.txt'] }
    const place = platform.place('one')
    await platform.chat.post(place, { ...final('a', about), files: ['guests/ada/a.txt', 'secret.txt'], scope }, never)
    await platform.chat.post(place, { ...final('b', about), files: ['notes.txt'] }, never)
    if (platform.filesRead === null) return expect(platform.chat.limits.namesFiles).toBe(true)
    expect(platform.filesRead).toEqual([
      { path: 'guests/ada/a.txt', scope },
      { path: 'secret.txt', scope },
      { path: 'notes.txt', scope: undefined },
    ])
  })

  test('with nobody connected, a final is not reported as posted', async () => {
    const platform = await open()
    const { nobodyThere } = platform
    expect((await platform.chat.post(platform.place('empty'), final('x'), never)).type).toBe(nobodyThere)
    await platform.arrive('left')
    await platform.leave('left')
    await expect
      .poll(async () => (await platform.chat.post(platform.place('left'), final('x'), never)).type)
      .toBe(nobodyThere)
  })

  test('a draft can be posted and edited at its pace, with or without anybody connected', async () => {
    const platform = await open()
    await platform.arrive('room')
    for (const conversation of ['room', 'empty']) {
      const place = platform.place(conversation)
      const posted = await platform.chat.post(place, { ...final('so far'), kind: 'draft' }, never)
      if (posted.type === 'posted')
        await platform.chat.edit(posted.ref, { ...final('so far and more'), kind: 'draft' }, never)
      await platform.chat.typing(place, AbortSignal.abort())
    }
    expect(platform.seen('room')).toEqual([])
    expect(platform.chat.limits.editEveryMs).toBeGreaterThan(0)
    expect(platform.chat.limits.measure('abc')).toBeGreaterThan(0)
  })

  test('buttons are shown; a click comes with its button, message and person, is answered privately, or asks for a text', async () => {
    const platform = await open()
    const { buttons } = platform
    expect(platform.chat.limits.buttons).toBe(buttons ? true : undefined)
    if (!buttons) return
    await platform.arrive('room')
    const end = listen(platform, async () => ({ type: 'accepted', id: 1, position: 0 }))
    await platform.reached()
    const clicks: Click[] = []
    const replies: ClickReply[] = [
      { type: 'note', text: 'only owners may answer' },
      { type: 'ask', title: 'Deny', label: 'Why not?' },
      { type: 'done' },
    ]
    buttons.clicks.handle = async click => replies[clicks.push(click) - 1] ?? { type: 'done' }
    const question: Outgoing = {
      ...{ key: 'k-question', kind: 'notice', about: null, text: 'May I?', ok: true, action: null },
      buttons: [
        { id: 'approval:7:once', label: 'Allow once', style: 'primary' },
        { id: 'approval:7:always', label: 'Allow always' },
        { id: 'approval:7:deny', label: 'Deny', style: 'danger' },
        ...['a', 'b', 'c'].map(id => ({ id: `approval:7:${id}`, label: 'x'.repeat(buttonLimits.label) })),
      ],
    }
    for (let i = 0; i < 2; i++)
      expect((await platform.chat.post(platform.place('room'), question, never)).type).toBe('posted')
    expect(buttons.shown('room')).toEqual({ text: 'May I?', ids: question.buttons?.map(({ id }) => id) })
    await buttons.click('room', 'approval:7:once')
    await expect.poll(() => buttons.notes()).toEqual(['only owners may answer'])
    expect(clicks[0]).toMatchObject({
      ...{ button: 'approval:7:once', text: null, name: expect.stringMatching(/ada/i) },
      ...{ sender: { chat: name, user: expect.any(String) }, message: { place: platform.place('room') } },
    })
    await buttons.click('room', 'approval:7:deny')
    await expect.poll(() => buttons.isAsked('room')).toBe(true)
    await buttons.write('room', 'too risky')
    await expect.poll(() => clicks.length).toBe(3)
    expect(clicks[2]).toEqual({ ...clicks[1], text: 'too risky' })

    const settled: Outgoing = { ...final('Denied: too risky'), about: null, replaces: question.key }
    for (let i = 0; i < 2; i++) await platform.chat.post(platform.place('room'), settled, never)
    expect(buttons.shown('room')).toBeNull()
    await expect.poll(() => platform.seen('room').map(one => one.text)).toEqual(['Denied: too risky'])
    await platform.chat.post(platform.place('room'), { ...final('gone'), about: null, replaces: 'k-nothing' }, never)
    expect(platform.seen('room').map(one => one.text)).toEqual(['Denied: too risky', 'gone'])
    await end()
  })

  test('a question whose confirmation is lost is shown once, with its buttons', async () => {
    const platform = await open()
    const { buttons } = platform
    if (!buttons) return
    await platform.arrive('room')
    const end = listen(platform, async () => ({ type: 'accepted', id: 1, position: 0 }))
    await platform.reached()
    const question: Outgoing = {
      ...{ key: 'k-question', kind: 'notice', about: null, text: 'May I?', ok: true, action: null },
      buttons: [{ id: 'approval:7:once', label: 'Allow once' }],
    }
    buttons.loseAnswer()
    expect((await platform.chat.post(platform.place('room'), question, never)).type).toBe('try-again')
    // Another message comes first.
    await platform.chat.post(platform.place('room'), { ...final('in between'), about: null }, never)
    expect((await platform.chat.post(platform.place('room'), question, never)).type).toBe('posted')
    expect(buttons.shown('room')).toEqual({ text: 'May I?', ids: ['approval:7:once'] })
    await platform.chat.post(
      platform.place('room'),
      { ...final('Allowed'), about: null, replaces: question.key },
      never,
    )
    expect(buttons.shown('room')).toBeNull()
    expect(platform.seen('room').map(one => one.text)).toEqual(['Allowed', 'in between'])
    await end()
  })
})
