// Which places a confined turn may reach, by name, port and address.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { admit, entryIn, hostIn, mayBeAt, placeIn, placeOfUrl, type Rules } from './admission.ts'

const rules = (given: Partial<Rules> = {}): Rules => ({ configured: [], listed: [], web: false, ...given })
const at = (text: string, given: Partial<Rules>) => {
  const place = placeIn(text)
  return place && admit(place, rules(given))
}

test('without a rule nothing is admitted', () => {
  for (const place of ['example.org:443', '127.0.0.1:80', 'localhost:5432', '169.254.169.254:80', '[::1]:80'])
    expect(at(place, {})).toBe(null)
})

test('what is configured is admitted on its own port only', () => {
  const configured = [placeOfUrl('https://model.example/v1'), placeOfUrl('http://127.0.0.1:4000/')].flatMap(
    place => place ?? [],
  )
  expect(at('MODEL.example.:443', { configured })).toBe('anywhere')
  expect(at('127.0.0.1:4000', { configured })).toBe('anywhere')
  for (const place of [
    'model.example:80',
    'model.example:22',
    'a.model.example:443',
    '127.0.0.1:4001',
    '127.0.0.2:4000',
  ])
    expect(at(place, { configured })).toBe(null)
})

test('a listed name admits the ports of the web or its own port, and must be public', () => {
  const listed = ['example.org', '*.example.net', 'git.example.com:22', '10.0.0.5:8080', 'web']
  expect(at('example.org:443', { listed })).toBe('public')
  expect(at('example.org:80', { listed })).toBe('public')
  expect(at('a.b.example.net:443', { listed })).toBe('public')
  expect(at('git.example.com:22', { listed })).toBe('public')
  expect(at('10.0.0.5:8080', { listed })).toBe('anywhere')
  for (const place of ['example.org:22', 'www.example.org:443', 'example.net:443', 'evilexample.net:443'])
    expect(at(place, { listed })).toBe(null)
  for (const place of ['git.example.com:443', '10.0.0.5:443', '10.0.0.6:8080']) expect(at(place, { listed })).toBe(null)
})

test('the web is every name on its two ports, and no address', () => {
  const web = { web: true }
  expect(at('example.org:443', web)).toBe('public')
  for (const place of [
    'example.org:25',
    '93.184.215.14:443',
    '127.1:80',
    '2130706433:80',
    '0x7f.0.0.1:80',
    '[::1]:443',
  ])
    expect(at(place, web)).toBe(null)
})

test('an address is recognised however it is written', () => {
  for (const text of ['127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.0.1.'])
    expect(hostIn(text)).toBe('127.0.0.1')
  expect(hostIn('[0:0::1]')).toBe('::1')
  for (const text of ['', 'a b', 'a/b', 'user@host', 'a#b', 'a?b', 'a\r\nb', '%31']) expect(hostIn(text)).toBe(null)
})

test('what cannot be read as host and port is no place', () => {
  for (const text of [
    '',
    'example.org',
    'example.org:',
    ':443',
    'example.org:0',
    'example.org:70000',
    'a:b:c',
    '::1:80',
  ])
    expect(placeIn(text)).toBe(null)
  expect(placeOfUrl('ftp://example.org')).toBe(null)
  expect(placeOfUrl('nothing')).toBe(null)
  expect(entryIn('*.10.0.0.1')).toBe(null)
  expect(entryIn('example.org:99999')).toBe(null)
  expect(entryIn('[fd00::1]:80')).toEqual({ host: 'fd00::1', port: 80, below: false })
})

const local = [
  ...['127.0.0.1', '127.8.8.8', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '0.0.0.0'],
  ...[
    '169.254.169.254',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
  ],
  ...[
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    'ff02::1',
  ],
]

test('a name that must be public may not lead into any other network', () => {
  for (const address of [...local, 'not an address', '']) expect(mayBeAt(address, 'public')).toBe(false)
  for (const address of ['93.184.215.14', '1.1.1.1', '172.32.0.1', '2606:4700::1111'])
    expect(mayBeAt(address, 'public')).toBe(true)
})

test('what the owner named may be anywhere but at a metadata service', () => {
  for (const address of ['127.0.0.1', '10.1.2.3', 'fd12::1', '1.1.1.1', '::1'])
    expect(mayBeAt(address, 'anywhere')).toBe(true)
  for (const address of ['169.254.169.254', 'fe80::1', 'fd00:ec2::254', '::ffff:169.254.169.254', '0.0.0.0'])
    expect(mayBeAt(address, 'anywhere')).toBe(false)
})

test('however a place is written, no rule for names admits an address', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.ipV4(),
        fc.ipV4Extended(),
        fc.ipV6().map(ip => `[${ip}]`),
      ),
      fc.integer({ min: 1, max: 65_535 }),
      (ip, port) => {
        expect(at(`${ip}:${port}`, { web: true, listed: ['*.org', 'example.org'] })).toBe(null)
      },
    ),
  )
})
