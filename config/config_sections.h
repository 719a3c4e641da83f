#pragma once

#include "config/config.h"
#include "config/config_reader.h"

/// The sections of a configuration that are more than single values; used by config.cpp alone.
namespace shardd {

void readLogger(ConfigReader reader, LoggerConfig& logger);
/// `openSSL`
void readTls(ConfigReader reader, Config& config);
void readMacros(const ConfigNode* node, Config& config, ConfigMistakes& mistakes);
void readClusters(const ConfigNode* node, Config& config, ConfigMistakes& mistakes);
void readProfiles(const ConfigNode* node, Config& config, ConfigMistakes& mistakes);
void readUsers(const ConfigNode* node, Config& config, ConfigMistakes& mistakes);

/// Accepted for ClickHouse's sake; their forms are checked, their limits are not kept yet.
void readQuotas(const ConfigNode* node, ConfigMistakes& mistakes);
void readShardd(ConfigReader reader, ShardDaemonConfig& shardd);
void readBootstrap(ConfigReader reader, BootstrapConfig& bootstrap);

}  // namespace shardd
