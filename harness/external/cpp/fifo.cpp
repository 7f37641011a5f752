// A model for heddle in C++, without a library: jobs in order of submission, any waiting
// task that fits. It shows what a program has to do; harness/external/README.md has the
// lines.
//
//     c++ -std=c++17 -O2 -o fifo fifo.cpp
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// Value is a JSON value: a number (or true as 1), a text, a list or an object.
struct Value {
  double number = 0;
  std::string text;
  std::vector<Value> list;
  std::map<std::string, Value> keys;

  bool has(const std::string &key) const { return keys.count(key) > 0; }
  const Value &get(const std::string &key) const { return keys.at(key); }
  const Value &at(size_t i) const { return list.at(i); }
  operator long() const { return static_cast<long>(number); }
};

// Reader reads one line. heddle's lines have no blanks between values.
class Reader {
 public:
  explicit Reader(const std::string &line) : at(line.c_str()) {}

  Value value() {
    Value v;
    switch (*at) {
      case '{':
        for (++at; *at != '}'; skip(',')) {
          std::string key = text();
          skip(':');
          v.keys[key] = value();
        }
        ++at;
        return v;
      case '[':
        for (++at; *at != ']'; skip(',')) v.list.push_back(value());
        ++at;
        return v;
      case '"':
        v.text = text();
        return v;
      case 't':
        v.number = 1;
        [[fallthrough]];
      case 'f':
      case 'n':
        while (std::isalpha(static_cast<unsigned char>(*at))) ++at;
        return v;
    }
    char *end;
    v.number = std::strtod(at, &end);
    if (end == at) throw std::runtime_error("no JSON: " + std::string(at));
    at = end;
    return v;
  }

 private:
  std::string text() {  // names stay as they are written, with their escapes
    std::string s;
    for (++at; *at != '"'; ++at) {
      if (*at == '\\') s += *at++;
      if (*at == 0) throw std::runtime_error("a text has no end");
      s += *at;
    }
    ++at;
    return s;
  }
  void skip(char c) {
    if (*at == c) ++at;
  }
  const char *at;
};

struct Node {
  bool up = false;
  long memory = 0, cores = 0, slots[2] = {1, 1};
};

struct Job {
  long maps = 0, memory[2] = {0, 0}, cores[2] = {0, 0}, waits[2] = {0, 0};
  std::vector<bool> waiting;

  void set(long task, bool wait) {
    waits[task >= maps] += wait - waiting[task];
    waiting[task] = wait;
  }
};

int main() {
  std::vector<Node> nodes;
  std::map<long, Job> jobs;
  for (std::string line; std::getline(std::cin, line);) {
    const Value request = Reader(line).value();
    if (request.has("bye")) return 0;
    if (request.has("hello")) {
      if (request.get("hello") != 1) {
        std::cerr << "this program speaks version 1 of the protocol\n";
        return 1;
      }
      std::cout << "{\"hello\":1,\"model\":\"fifo.cpp\",\"events\":false}" << std::endl;
      continue;
    }
    if (request.has("nodes"))
      for (const Value &n : request.get("nodes").list) {
        if (nodes.size() <= static_cast<size_t>(long(n.get("id")))) nodes.resize(n.get("id") + 1L);
        Node &node = nodes[n.get("id")];
        node.up = n.get("up") != 0;
        node.memory = n.get("free").at(0), node.cores = n.get("free").at(1);
        for (int kind = 0; kind < 2; ++kind) node.slots[kind] = n.has("slots") ? long(n.get("slots").at(kind)) : 1;
      }
    if (request.has("ended"))
      for (const Value &id : request.get("ended").list) jobs.erase(id);
    if (request.has("jobs"))
      for (const Value &j : request.get("jobs").list) {
        Job &job = jobs[j.get("id")];
        if (j.has("tasks")) {
          job.maps = j.get("tasks").at(0);
          job.waiting.resize(job.maps + j.get("tasks").at(1));
          for (int kind = 0; kind < 2; ++kind) job.memory[kind] = j.get("sizes").at(kind).at(0), job.cores[kind] = j.get("sizes").at(kind).at(1);
        }
        for (const char *key : {"rest", "waiting"})
          if (j.has(key))
            for (const Value &range : j.get(key).list)
              for (long t = range.at(0); t <= range.at(1); ++t) job.set(t, key[0] == 'w');
        if (j.has("runs"))
          for (const Value &run : j.get("runs").list) job.set(run.at(0), false);
      }
    std::cout << "{\"answer\":" << long(request.get("ask")) << ",\"start\":[";
    if (request.has("node")) {
      const Node &node = nodes[request.get("node")];
      bool found = false;
      for (auto job = jobs.begin(); job != jobs.end() && !found; ++job)
        for (int kind = 1; kind >= 0 && !found; --kind) {  // reduces first, which any node can run
          const Job &j = job->second;
          found = node.up && j.waits[kind] > 0 && j.memory[kind] <= node.memory && j.cores[kind] <= node.cores && node.slots[kind] > 0;
          if (found) std::cout << "{\"job\":" << job->first << ",\"kind\":\"" << (kind ? "reduce" : "map") << "\"}";
        }
    }
    std::cout << "]}" << std::endl;
  }
}
