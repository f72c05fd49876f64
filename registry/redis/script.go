package redis

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/weftrpc/weft/registry"
)

// scripts are the steps that must not be taken apart. The library sends the digest of a
// script, and all of it when the server does not know it (any more).
type scripts struct {
	put, refresh, remove, list *redis.Script // of instances
	load, store                *redis.Script // of documents
}

// What a client takes of one service. A process that can write to Redis could otherwise
// fill the memory of all clients.
const (
	maxInstances = 100_000
	maxBytes     = 64 << 20 // of all IDs and values together
	maxValue     = 64 << 10 // more is no instance for registry.Decode
)

func newScripts() scripts {
	prelude := clockPrelude + fmt.Sprintf(servicePrelude, maxInstances)
	return scripts{
		put:     redis.NewScript(prelude + putStep),
		refresh: redis.NewScript(prelude + refreshStep),
		remove:  redis.NewScript(prelude + removeStep),
		list:    redis.NewScript(prelude + fmt.Sprintf(listStep, maxInstances, maxValue, maxBytes)),
		load:    redis.NewScript(fmt.Sprintf(loadStep, registry.MaxDocument)),
		store:   redis.NewScript(clockPrelude + storeStep),
	}
}

// clockPrelude begins every script that changes something. Numbers are written without an exponent; those of Lua are
// exact up to 2^53, which a clock of microseconds reaches in 2255.
const clockPrelude = `
local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)

local function text(n)
	return string.format('%.0f', n)
end

-- number is a revision that was stored. What this program has not written counts as none.
local function number(stored)
	local n = stored and #stored <= 16 and tonumber(stored) or 0
	if n >= 0 and n < 9007199254740992 then
		return n
	end
	return 0
end

-- after is a number greater than last, and than any given out before now.
local function after(last)
	return text(math.max(last + 1, time[1] * 1000000 + time[2]))
end

local function announce()
	redis.call('PUBLISH', ARGV[1], '')
end
`

// servicePrelude removes what has expired, before every step with instances.
// KEYS: instances, expiry, revision. ARGV[1]: the channel.
const servicePrelude = `
local instances, expiry, revision = KEYS[1], KEYS[2], KEYS[3]

local function change()
	redis.call('SET', revision, after(number(redis.call('GET', revision))), 'KEEPTTL')
	announce()
end

-- hold gives an instance another ttl, and all keys an hour more.
local function hold(id, ttl)
	redis.call('ZADD', expiry, text(ms + ttl), id)
	local longest = ttl + 3600000
	for _, key in ipairs(KEYS) do
		longest = math.max(longest, redis.call('PTTL', key))
	end
	for _, key in ipairs(KEYS) do
		redis.call('PEXPIRE', key, text(longest))
	end
end

-- A Redis that is short of memory may have evicted one key of the three. Servers that
-- are alive refresh what has lost its time within the next hour. If there are more than
-- are listed, another program has written them.
local there = redis.call('HLEN', instances)
if there <= %d and there ~= redis.call('ZCARD', expiry) then
	for _, id in ipairs(redis.call('HKEYS', instances)) do
		if not redis.call('ZSCORE', expiry, id) then
			redis.call('ZADD', expiry, text(ms + 3600000), id)
		end
	end
end

local expired = redis.call('ZRANGEBYSCORE', expiry, '-inf', text(ms))
for _, id in ipairs(expired) do
	redis.call('HDEL', instances, id)
	redis.call('ZREM', expiry, id)
end
if #expired > 0 then
	change()
end
`

// ARGV: channel, ID, value, ttl in milliseconds.
const putStep = `
if redis.call('HGET', instances, ARGV[2]) ~= ARGV[3] then
	redis.call('HSET', instances, ARGV[2], ARGV[3])
	change()
end
hold(ARGV[2], tonumber(ARGV[4]))
return 1
`

// ARGV: channel, ID, ttl in milliseconds. It returns 0 when there is no such instance.
const refreshStep = `
if redis.call('HEXISTS', instances, ARGV[2]) == 0 or not redis.call('ZSCORE', expiry, ARGV[2]) then
	return 0
end
hold(ARGV[2], tonumber(ARGV[3]))
return 1
`

// ARGV: channel, ID.
const removeStep = `
redis.call('ZREM', expiry, ARGV[2])
if redis.call('HDEL', instances, ARGV[2]) == 1 then
	change()
end
return 1
`

// ARGV: channel, the revision that is known. It returns the revision, and if that is
// another one all IDs and values; of a value that is too long its length.
const listStep = `
local now = text(number(redis.call('GET', revision)))
if now == ARGV[2] then
	return {now}
end
local many = 'WEFT there are more than %[1]d instances, or more than %[3]d bytes of them: remove what is none'
if redis.call('HLEN', instances) > %[1]d then
	return redis.error_reply(many)
end
local all, size = redis.call('HGETALL', instances), 0
for i = 1, #all, 2 do
	if #all[i + 1] > %[2]d then
		all[i + 1] = #all[i + 1]
	else
		size = size + #all[i + 1]
	end
	size = size + #all[i]
end
if size > %[3]d then
	return redis.error_reply(many)
end
return {now, all}
`

// KEYS: the document. ARGV: channel, the version that is known. It returns the version,
// and if that is another one the value; nothing if there is no document.
const loadStep = `
local version = redis.call('HGET', KEYS[1], 'version')
if not version then
	return {}
end
if version == ARGV[2] then
	return {version}
end
local size = redis.call('HSTRLEN', KEYS[1], 'value')
if size > %[1]d or #version > 20 then
	return redis.error_reply('WEFT it has ' .. size .. ' bytes, at most %[1]d are allowed, or no proper version')
end
return {version, redis.call('HGET', KEYS[1], 'value') or ''}
`

// KEYS: the document. ARGV: channel, value, the version to be replaced. It returns 0
// when the version is another one.
const storeStep = `
local last = redis.call('HGET', KEYS[1], 'version') or '0'
if last ~= ARGV[3] then
	return 0
end
redis.call('HSET', KEYS[1], 'value', ARGV[2], 'version', after(number(last)))
announce()
return 1
`
